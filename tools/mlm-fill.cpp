// mlm-fill - fill the masks in each line of text. See man/mlm-fill.1.
#include <deque>

#include "base/parse.h"
#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"
#include "rows/mlm_fill.h"

using namespace bert;

namespace {

struct Options {
  MlmFillOptions fill;
  std::vector<std::string> verbalizers;
  std::string gold, labels, targets_field;
  tools::ReportOption report;
};

void add_targets(tools::Command& app, Options& o) {
  app.add({"--targets", "the only candidates, separated by commas", tools::text("WORDS")},
          o.fill.targets)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add({"--targets-field", "field with the record's own candidates, separated by commas",
           tools::column()},
          o.targets_field);
  app.add<TargetScore>(
      {"--target-score", "how a candidate of several pieces is scored"}, o.fill.target_score,
      {{"joint", TargetScore::joint}, {"sum", TargetScore::sum}, {"mean", TargetScore::mean}});
}

void add(tools::Command& app, Options& o) {
  app.add({"-k,--top-k", "the K best candidates for each mask, one per row", tools::positive("K")},
          o.fill.top_k)
      .shown_as("-k");
  app.add({"--tokens", "read and write tokens, as tokenize writes them"}, o.fill.tokens);
  app.add({"--joint", "fill the masks of a record together"}, o.fill.joint);
  app.add({"--beam", "solutions kept with --joint (default: 5)", tools::positive()}, o.fill.beam);
  app.add<FillOrder>({"--order", "which mask is filled next"}, o.fill.order,
                     {{"confidence", FillOrder::confidence}, {"left", FillOrder::left}});
  app.add({"--max-pieces", "fill a mask with a word of 1 to N pieces", tools::whole(1, 16)},
          o.fill.max_pieces);
  add_targets(app, o);
  app.add({"--temperature", "divide the logits by T (default: 1)", tools::real(1e-3, 1e3, "T")},
          o.fill.temperature);
  app.add({"--gold", "field with the true text: measure instead of filling", tools::column()},
          o.gold);
  app.add({"--labels", "as --gold, with the labels that mlm-mask --labels wrote", tools::column()},
          o.labels);
  o.report.add(app, nullptr);
  o.report.add_seed(app, nullptr);
  app.add({"--prompt", "a text with {} where the record belongs", tools::text("TEXT")},
          o.fill.prompt);
  app.add({"--calibrate", "divide each probability by the one that this content-free prompt gives",
           tools::text("TEXT")},
          o.fill.calibration)
      .of("calibration");
  app.add({"--verbalizer",
           "a label and the words that mean it; writes label and probability (repeatable)",
           tools::text("LABEL=WORDS")},
          o.verbalizers)
      .of("verbalizers")
      ->allow_extra_args(false);  // the next argument is a FILE
}

void finish(const tools::Command& app, Options& o) {
  for (const std::string& text : o.verbalizers) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      throw Error(Error::Kind::usage, "--verbalizer",
                  "found '" + printable(text) + "', wants LABEL=WORD,WORD");
    const auto words = split(std::string_view(text).substr(equals + 1), ',');
    o.fill.verbalizers.push_back({text.substr(0, equals), {words.begin(), words.end()}});
  }
  o.fill.targets_field = !o.targets_field.empty();
  if (!o.gold.empty()) o.fill.truth = FillTruth::text;
  if (!o.labels.empty()) o.fill.truth = FillTruth::labels;
  if (!o.gold.empty() && !o.labels.empty())
    throw Error(Error::Kind::usage, "", "wants only one of --gold and --labels");
  if (!o.fill.joint && o.fill.max_pieces < 2)
    tools::refuse_given(app, {"--beam", "--order"}, "wants --joint or --max-pieces");
  if (o.fill.truth != FillTruth::none)
    tools::refuse_given(app, {"--top-k"}, "not with --gold or --labels");
  if (o.fill.targets.empty() && !o.fill.targets_field && o.verbalizers.empty())
    tools::refuse_given(app, {"--target-score"}, "wants --targets or --verbalizer");
  if (o.fill.truth == FillTruth::none)
    tools::refuse_given(app, {"--seed"}, "wants --gold or --labels");
  if (o.report.given() && o.fill.truth == FillTruth::none)
    throw Error(Error::Kind::usage, "--report", "wants --gold or --labels");
}

/// Reads the true texts or labels beside the records, if they are measured.
void want_truth(const Options& o, tools::RowOptions& rows) {
  rows.stream().want_field("targets_field", o.targets_field);
  if (o.fill.targets_field && !rows.fields_given()) rows.stream().fields = {"1"};
  if (o.fill.truth == FillTruth::none) return;
  rows.stream().want_truth("gold", o.gold);
  rows.stream().want_truth("labels", o.labels);
  // The text must not include the true text.
  if (!rows.fields_given()) rows.stream().fields = {"1"};
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Fill the masks in each line of text."};
  app.footer("echo 'Mozart was a famous [MASK].' | mlm-fill -k 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, task_spec(TaskKind::fill_mask));
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(app, options);
    const OpenedModel opened(models.request());
    const MaskedLM head = MaskedLM::open(opened.model());
    TaskOptions task = task_options(opened);
    const bool measured = options.fill.truth != FillTruth::none;
    const bool several = measured || (options.fill.top_k > 0 && options.verbalizers.empty());
    rows.fill(task, {several ? tools::RowShape::Per::several : tools::RowShape::Per::one});
    const FillPlan plan = FillPlan::make(options.fill, opened.tokenizer(), task.encode.max_length);
    want_truth(options, rows);
    rows.stream().output_names = plan.columns();

    std::deque<FillSummary> summaries;  // one for each worker
    FillSummary sum;
    const auto make_worker = [&] {
      FillSummary* own = &summaries.emplace_back();
      return std::make_unique<MlmFillWorker>(opened.tokenizer(), opened.model(), head, plan, own,
                                             task);
    };
    std::string sure;
    const int status = options.report.run(rows, make_worker, [&](const Resampling& how) {
      for (const FillSummary& part : summaries) sum += part;
      const Doubt doubt = sum.doubt(how);
      if (measured && sum.masks > 0 && !options.report.given()) sure = FillSummary::text_of(doubt);
      return tools::Report{"", sum.report() + doubt.rows(), "", sum.json(doubt)};
    });
    const std::string text = options.report.given() ? "" : sum.text(measured, rows.counts());
    for (const std::string& told : {text, sure, sum.unknown_text()})
      if (!told.empty() && !tools::within_memo()) tools::notice(told);
    return status;
  });
}
