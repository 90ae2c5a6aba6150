// classify - label each line of text. See man/classify.1.
#include "common/report.h"
#include "common/run.h"
#include "mlm/cloze.h"

using namespace bert;

namespace {

struct Options {
  ClassifyOptions classify;
  LabelChoice choice;
  std::string labels, rename, gold;
  tools::ReportOption report;
};

void add(tools::Command& app, Options& o) {
  app.add({"--pair", "read a pair of texts (default: fields 1 and 2)"}, o.classify.pair);
  auto all = app.add({"--all", "one score per label, in the model's order"}, o.classify.all);
  auto top = app.add({"-k,--top-k", "the K best labels, with their scores", tools::positive("K")},
                     o.classify.top_k)
                 ->excludes(all);
  auto threshold =
      app.add({"--threshold", "only labels with at least this probability, '-' for none",
               tools::real(0.0, 1.0, "P")},
              o.classify.threshold)
          ->excludes(all)
          ->excludes(top);
  app.add({"--logits", "write the model's raw scores instead of probabilities"}, o.choice.logits)
      ->excludes(threshold);
  app.add({"--rename", "new names for the model's labels, in their order", tools::text("A,B,...")},
          o.rename)
      .of("names");
  app.add({"--labels", "candidates for zero-shot, with an NLI or a masked-LM head",
           tools::text("A,B,...")},
          o.labels)
      .of("candidates");
  app.add({"--template", "hypothesis for a candidate (default: 'This example is {}.')",
           tools::text("TEXT")},
          o.choice.hypothesis_template)
      .of("hypothesis_template");
  app.add({"--calibrate",
           "with a masked-LM head: divide by each candidate's probability without a text"},
          o.choice.calibrate);
  app.add({"--multi-label", "any number of candidates may be true"}, o.choice.independent)
      .of("independent");
  auto gold =
      app.add({"--gold", "field with the true label: report accuracy, precision, F1 on stderr",
               tools::column()},
              o.gold);
  o.report.add(app, gold);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Label each line of text."};
  app.footer("classify -o reviews.txt | cut -f 1 | sort | uniq -c");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);
  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    options.choice.candidates = tools::read_names("--labels", options.labels);
    options.choice.names = tools::read_names("--rename", options.rename);
    Model model = models.open_model(HeadKind::classify);
    const bool cloze = !options.choice.candidates.empty() && ClozePlan::fits(model);
    if (cloze) model = models.open_model(HeadKind::masked_lm);
    const auto head = cloze ? std::optional<Classifier>() : Classifier::open(model);
    const auto masked = cloze ? MaskedLM::open(model) : std::optional<MaskedLM>();
    const LabelPlan plan =
        cloze ? LabelPlan::of_candidates(options.choice) : LabelPlan::make(*head, options.choice);
    ClassifyOptions& classify = options.classify;
    classify.pair |= rows.fields().find(',') != std::string::npos;
    if (classify.pair && !options.choice.candidates.empty())
      throw Error(Error::Kind::usage, "--labels", "candidates want one text, found two");
    TaskOptions task;
    models.fill(task, tokenizer, model, classify.pair || !plan.hypotheses.empty() ? 2 : 1);
    rows.fill(task);
    if (!plan.hypotheses.empty()) task.encode.truncation = Truncation::only_first;
    ClozePlan prompt;
    if (cloze) prompt = ClozePlan::make(options.choice, tokenizer, task.encode.max_length);
    rows.stream().texts = classify.pair ? 2 : 1;
    rows.stream().output_names = plan.columns(classify);
    LabelMetrics label_metrics(plan.labels);
    ValueMetrics value_metrics;
    if (!options.gold.empty()) {
      if (plan.values && plan.labels.size() > 1)
        throw Error(Error::Kind::usage, "--gold", "wants a model with labels or with one value");
      rows.stream().want_truth("gold", options.gold);
      const bool whole = !classify.pair && !rows.fields_given();  // the line has the label
      if (whole) rows.stream().fields = {options.gold == "1" ? "2" : "1"};
      if (plan.labels.size() == 1) classify.value_metrics = &value_metrics;
      if (plan.labels.size() > 1) classify.label_metrics = &label_metrics;
    }
    std::function<tools::Report()> report;
    if (classify.value_metrics) report = tools::report_of(value_metrics);
    if (classify.label_metrics) report = tools::report_of(label_metrics, !plan.independent);
    const auto make_worker = [&]() -> std::unique_ptr<Worker> {
      if (!cloze)
        return std::make_unique<ClassifyWorker>(tokenizer, model, *head, plan, classify, task);
      return std::make_unique<ClozeWorker>(tokenizer, model, *masked, plan, prompt, classify, task);
    };
    return options.report.run(rows, make_worker, report);
  });
}
