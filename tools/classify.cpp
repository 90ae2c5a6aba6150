// classify - label each line of text. See man/classify.1.
#include "rows/classify.h"

#include "common/report.h"
#include "common/run.h"

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
              o.classify.rule.threshold)
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
  tools::ModelOptions models(app, task_spec(TaskKind::text_classification));
  Options options;
  add(app, options);
  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    options.choice.candidates = tools::read_names("--labels", options.labels);
    options.choice.names = tools::read_names("--rename", options.rename);
    Model model = models.open_model(HeadKind::classify);
    const bool cloze = !options.choice.candidates.empty() && ClozePlan::fits(model);
    if (cloze) model = models.open_model(HeadKind::masked_lm);
    std::optional<LabelPredictor> predictor;
    if (!cloze) predictor.emplace(model, options.choice);
    const auto masked = cloze ? MaskedLM::open(model) : std::optional<MaskedLM>();
    const LabelPlan plan = cloze ? LabelPlan::of_candidates(options.choice) : predictor->plan();
    ClassifyOptions& classify = options.classify;
    classify.pair |= rows.fields().find(',') != std::string::npos;
    if (classify.pair && !options.choice.candidates.empty())
      throw Error(Error::Kind::usage, "--labels", "candidates want one text, found two");
    TaskOptions task;
    TaskSpec spec = task_spec(plan.hypotheses.empty() ? TaskKind::text_classification
                                                      : TaskKind::zero_shot_classification);
    if (classify.pair) spec.texts = 2;
    models.fill(task, tokenizer, model, spec);
    rows.fill(task);
    ClozePlan prompt;
    if (cloze) prompt = ClozePlan::make(options.choice, tokenizer, task.encode.max_length);
    rows.stream().texts = classify.pair ? 2 : 1;
    rows.stream().output_names = classify.columns(plan);
    GoldLabels gold(plan);
    LabelSink sink;
    std::function<tools::Report()> report;
    if (!options.gold.empty()) {
      if (plan.values && plan.labels.size() > 1)
        throw Error(Error::Kind::usage, "--gold", "wants a model with labels or with one value");
      rows.stream().want_truth("gold", options.gold);
      const bool whole = !classify.pair && !rows.fields_given();  // the line has the label
      if (whole) rows.stream().fields = {options.gold == "1" ? "2" : "1"};
      classify.rule.several = !gold.of_values();
      sink = [&](const auto&... found) { gold.add(found...); };
      report = gold.of_values() ? tools::report_of(gold.values())
                                : tools::report_of(gold.labels(), !plan.independent);
    }
    const auto make_worker = [&]() -> std::unique_ptr<Worker> {
      if (!cloze)
        return std::make_unique<ClassifyWorker>(tokenizer, *predictor, classify, task, sink);
      return std::make_unique<ClozeWorker>(tokenizer, model, *masked, plan, prompt, classify, task,
                                           sink);
    };
    return options.report.run(rows, make_worker, report);
  });
}
