// classify - label each line of text. See man/classify.1.
#include "rows/classify.h"

#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/label_model.h"

using namespace bert;

namespace {

struct Options {
  ClassifyOptions classify;
  LabelChoice choice;
  std::string labels, rename, gold, against;
  bool calibration = false;
  tools::ReportOption report;
};

void add_gold(tools::Command& app, Options& o) {
  auto gold =
      app.add({"--gold", "field with the true label: report accuracy, precision, F1 on stderr",
               tools::column()},
              o.gold);
  app.add({"--against", "field with another prediction: report whether the two differ",
           tools::column()},
          o.against)
      ->needs(gold);
  app.add({"--calibration", "report how far the probabilities are from the shares that are right"},
          o.calibration)
      ->needs(gold);
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
}

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
  add_gold(app, o);
}

/// What the report says of labels or values; with the other prediction, if there is one.
template <typename Metrics, typename ToJson>
tools::Report report_of(const Metrics& metrics, const Options& o, const Resampling& how,
                        ToJson to_json) {
  const Doubt doubt = o.against.empty() ? metrics.doubt(how) : metrics.against(how);
  return {metrics.report(), "", doubt.rows(), to_json(doubt)};
}

tools::Report report_of(const GoldLabels& gold, const LabelPlan& plan, const Options& o,
                        const Resampling& how) {
  if (gold.of_values())
    return report_of(gold.values(), o, how, [&](const Doubt& d) { return gold.values().json(d); });
  tools::Report report = report_of(gold.labels(), o, how, [&](const Doubt& d) {
    return gold.labels().json(!plan.independent, d, o.calibration ? &gold.calibration() : nullptr);
  });
  if (!plan.independent) report.more = gold.labels().confusions();
  if (o.calibration) report.end += gold.calibration().report();
  return report;
}

/// Reads the true labels, which `sink` compares with those that are found. Returns what reports on
/// that; empty without --gold.
tools::MakeReport want_gold(const LabelPlan& plan, Options& o, tools::RowOptions& rows,
                            GoldLabels& gold, LabelSink& sink) {
  if (o.gold.empty()) return {};
  if (plan.values && plan.labels.size() > 1)
    throw Error(Error::Kind::usage, "--gold", "wants a model with labels or with one value");
  rows.stream().want_truth("gold", o.gold);
  const bool whole = !o.classify.pair && !rows.fields_given();  // the line has the label
  if (whole) rows.stream().fields = {o.gold == "1" ? "2" : "1"};
  rows.stream().want_field("against", o.against);
  if (o.calibration && (gold.of_values() || plan.logits))
    throw Error(Error::Kind::usage, "--calibration", "wants a model with labels, without --logits");
  gold.set_against(!o.against.empty());
  o.classify.rule.several = !gold.of_values();
  sink = [&gold](const auto&... found) { gold.add(found...); };
  return [&](const Resampling& how) { return report_of(gold, plan, o, how); };
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Label each line of text."};
  app.footer("classify -o reviews.txt | cut -f 1 | sort | uniq -c");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, task_spec(TaskKind::text_classification));
  Options options;
  add(app, options);
  rows.add_search(app);
  return tools::run(app, argc, argv, [&] {
    options.choice.candidates = tools::read_names("--labels", options.labels);
    options.choice.names = tools::read_names("--rename", options.rename);
    const LabelModel model(models.request(), options.choice);
    const LabelPlan& plan = model.plan();
    ClassifyOptions& classify = options.classify;
    classify.pair |= rows.fields().find(',') != std::string::npos;
    if (classify.pair && !options.choice.candidates.empty())
      throw Error(Error::Kind::usage, "--labels", "candidates want one text, found two");
    TaskOptions task = task_options(model.opened(), model.reading(classify.pair));
    rows.fill(task);
    ClozePlan prompt;
    if (!model.predictor())
      prompt = ClozePlan::make(options.choice, model.tokenizer(), task.encode.max_length);
    rows.stream().texts = classify.pair ? 2 : 1;
    rows.stream().output_names = classify.columns(plan);
    GoldLabels gold(plan);
    LabelSink sink;
    const auto report = want_gold(plan, options, rows, gold, sink);
    const auto make_worker = [&]() -> std::unique_ptr<Worker> {
      const Tokenizer& tokenizer = model.tokenizer();
      if (const LabelPredictor* predictor = model.predictor())
        return std::make_unique<ClassifyWorker>(tokenizer, *predictor, classify, task, sink);
      return std::make_unique<ClozeWorker>(tokenizer, model.opened().model(), model.masked_lm(),
                                           plan, prompt, classify, task, sink);
    };
    return options.report.run(rows, make_worker, report);
  });
}
