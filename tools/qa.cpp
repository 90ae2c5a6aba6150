// qa - find the answer to a question in a text. See man/qa.1.
#include "rows/qa.h"

#include <fmt/format.h>

#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "common/search.h"
#include "metrics/answer_metrics.h"
#include "predict/opened_model.h"

using namespace bert;

namespace {

struct Options {
  QaOptions qa;
  std::string gold;
  tools::ReportOption report;
  bool chars = false;
  CLI::Option* question = nullptr;
  CLI::Option* top_k = nullptr;
};

void add(tools::Command& app, Options& o) {
  o.question = app.add(
      {"-q,--question", "ask every record this question and rank the answers", tools::text("TEXT")},
      o.qa.question);
  o.top_k = app.add({"-k,--top-k",
                     "the K best answers of each record, after its number (default: 1); with -q, "
                     "of all records (default: 10)",
                     tools::whole(1, 1 << 20, "K")},
                    o.qa.top_k);
  app.add(
      {"--max-answer-length",
       fmt::format("tokens of an answer (default: {})", o.qa.max_answer_length), tools::positive()},
      o.qa.max_answer_length);
  app.add({"--null-margin", "give no answer if its logit is above the best answer's by more than X",
           tools::real()},
          o.qa.null_margin);
  app.add({"--threshold", "with -q: only answers with at least this score",
           tools::real(0.0, 1.0, "P")},
          o.qa.threshold)
      ->needs(o.question);
  app.add({"--chars", "start and end count code points"}, o.chars);
  auto gold =
      app.add({"--gold",
               "field with the true answer, or a JSON array of answers: report exact match and F1",
               tools::column()},
              o.gold)
          ->excludes(o.question);
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
}

/// One question to all records, whose answers are ranked.
int rank_answers(const AnswerPredictor& predictor, Options& o, const TaskOptions& task,
                 tools::RowOptions& rows) {
  QaOptions& qa = o.qa;
  AnswerRanking ranking(o.top_k->count() > 0 ? qa.top_k : 10);
  AnswerSinks sinks;
  sinks.found = [&](FoundAnswer answer) { ranking.add(std::move(answer)); };
  qa.top_k = 1;
  if (!qa.null_margin) qa.null_margin = 0;
  rows.stream().texts = 1;
  rows.stream().output_names = names_of<FoundAnswer>();
  return tools::search(rows, ranking,
                       [&] { return std::make_unique<QaWorker>(predictor, qa, task, sinks); });
}

/// The question of each record, and how good the answers are with --gold.
int answer_records(const AnswerPredictor& predictor, const Options& o, const TaskOptions& task,
                   tools::RowOptions& rows) {
  AnswerMetrics metrics;
  AnswerSinks sinks;
  tools::MakeReport report;
  if (!o.gold.empty()) {
    sinks.answered = [&](const Record& record, std::string_view best) {
      metrics.add(gold_answers(record.extra[0]), best);
    };
    rows.stream().want_truth("gold", o.gold);
    report = tools::report_of(metrics);
  }
  rows.stream().output_names = names_of<AnswerRow>();
  return o.report.run(
      rows, [&] { return std::make_unique<QaWorker>(predictor, o.qa, task, sinks); }, report);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Find the answer to a question in a text."};
  app.footer("qa -q 'who sat?' text.txt");
  // -q is the question, as the pattern is of grep -e.
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 2, "--quiet");
  tools::ModelOptions models(app, task_spec(TaskKind::question_answering));
  Options options;
  add(app, options);
  rows.add_search(app, options.question);

  return tools::run(app, argc, argv, [&] {
    const OpenedModel opened(models.request());
    const AnswerPredictor predictor(opened.tokenizer(), opened.model());
    TaskOptions task = task_options(opened);
    const bool searching = options.question->count() > 0;
    using Per = tools::RowShape::Per;
    rows.fill(task, {searching ? Per::none : options.top_k->count() > 0 ? Per::several : Per::one});
    task.chars = options.chars;

    auto& null_margin = options.qa.null_margin;
    if (!null_margin) null_margin = opened.model().config().null_score_diff_threshold;
    return searching ? rank_answers(predictor, options, task, rows)
                     : answer_records(predictor, options, task, rows);
  });
}
