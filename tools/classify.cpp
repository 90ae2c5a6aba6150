// classify - label each line of text. See man/classify.1.
#include "tasks/classify.h"

#include "common/options.h"
#include "common/run.h"

using namespace bert;

namespace {

struct Options {
  ClassifyOptions classify;
  LabelChoice choice;
  std::string labels, rename, gold;
};

void add(CLI::App& app, Options& o) {
  app.add_flag("--pair", o.classify.pair, "read a pair of texts (default: fields 1 and 2)");
  auto* all = app.add_flag("--all", o.classify.all, "one score per label, in the model's order");
  auto* top = app.add_option("-k,--top-k", o.classify.top_k, "the K best labels, with their scores")
                  ->check(CLI::PositiveNumber)
                  ->excludes(all)
                  ->type_name("K");
  auto* threshold = app.add_option("--threshold", o.classify.threshold,
                                   "only labels with at least this probability, '-' for none")
                        ->check(CLI::Range(0.0, 1.0))
                        ->excludes(all)
                        ->excludes(top)
                        ->type_name("P");
  app.add_flag("--logits", o.choice.logits, "write the model's raw scores instead of probabilities")
      ->excludes(threshold);
  app.add_option("--rename", o.rename, "new names for the model's labels, in their order")
      ->type_name("A,B,...");
  app.add_option("--labels", o.labels, "candidate labels for zero-shot, with an NLI model")
      ->type_name("A,B,...");
  app.add_option("--template", o.choice.hypothesis_template,
                 "hypothesis for a candidate (default: 'This example is {}.')")
      ->type_name("TEXT");
  app.add_flag("--multi-label", o.choice.independent, "any number of candidates may be true");
  app.add_option("--gold", o.gold,
                 "field with the true label: report accuracy, precision, recall, F1 on stderr")
      ->type_name("N");
}

std::vector<std::string> split_labels(const char* option, const std::string& text) {
  std::vector<std::string> labels;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string label = text.substr(begin, comma - begin);
    if (label.empty() || label.find_first_of("\t\n") != std::string::npos ||
        std::find(labels.begin(), labels.end(), label) != labels.end()) {
      throw Error(Error::Kind::usage, option,
                  "found '" + printable(text) + "', wants different names separated by commas");
    }
    labels.push_back(label);
    begin = comma + 1;
  }
  return labels;
}

std::vector<std::string> column_names(const LabelPlan& plan, const ClassifyOptions& classify) {
  if (classify.all || plan.values) return plan.labels;
  std::vector<std::string> names;
  for (size_t k = 1; k <= std::min(classify.top_k, plan.labels.size()); ++k) {
    names.push_back("label" + std::to_string(k));
    names.push_back((plan.logits ? "logit" : "p") + std::to_string(k));
  }
  if (names.empty()) names = {"label", plan.logits ? "logit" : "probability"};
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Label each line of text."};
  app.footer("classify -o reviews.txt | cut -f 1 | sort | uniq -c");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);
  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model("text-classification");
    const Classifier head = Classifier::open(model);
    options.choice.candidates = split_labels("--labels", options.labels);
    options.choice.names = split_labels("--rename", options.rename);
    const LabelPlan plan = LabelPlan::make(head, options.choice);
    TaskOptions task;
    models.fill(task, tokenizer, model);
    rows.fill(task);
    if (!plan.hypotheses.empty()) task.encode.truncation = Truncation::only_first;
    ClassifyOptions& classify = options.classify;
    const auto* fields = app.get_option("--fields");
    classify.pair |=
        fields->count() > 0 && fields->as<std::string>().find(',') != std::string::npos;
    if (classify.pair && !plan.hypotheses.empty())
      throw Error(Error::Kind::usage, "--labels", "candidates want one text, found two");
    rows.stream().texts = classify.pair ? 2 : 1;
    rows.stream().output_names = column_names(plan, classify);
    LabelMetrics label_metrics(plan.labels);
    ValueMetrics value_metrics;
    if (!options.gold.empty()) {
      if (plan.values && plan.labels.size() > 1)
        throw Error(Error::Kind::usage, "--gold", "wants a model with labels or with one value");
      rows.stream().want_truth("--gold", options.gold);
      const bool whole = !classify.pair && fields->count() == 0;  // the line has the label
      if (whole) rows.stream().fields = {options.gold == "1" ? "2" : "1"};
      if (plan.labels.size() == 1) classify.value_metrics = &value_metrics;
      if (plan.labels.size() > 1) classify.label_metrics = &label_metrics;
    }
    const int status = rows.run([&] {
      return std::make_unique<ClassifyWorker>(tokenizer, model, head, plan, classify, task);
    });
    if (classify.label_metrics) tools::print_report(label_metrics.report());
    if (classify.value_metrics) tools::print_report(value_metrics.report());
    return status;
  });
}
