// qa - find the answer to a question in a text. See man/qa.1.
#include "tasks/qa.h"

#include <unistd.h>

#include "common/options.h"
#include "common/run.h"

using namespace bert;

namespace {

struct Options {
  QaOptions qa;
  std::string gold;
  bool chars = false;
  CLI::Option* question = nullptr;
  CLI::Option* top_k = nullptr;
};

void add(CLI::App& app, Options& o) {
  app.remove_option(app.get_option("--quiet"));  // -q is the question, like the pattern of grep -e
  app.add_flag_callback(
      "--quiet", [] { tools::set_quiet(true); }, "write only errors to stderr");
  o.question = app.add_option("-q,--question", o.qa.question,
                              "ask every record this question and rank the answers")
                   ->type_name("TEXT");
  o.top_k =
      app.add_option("-k,--top-k", o.qa.top_k,
                     "the K best answers of each record, after its number (default: 1); with -q, "
                     "of all records (default: 10)")
          ->check(CLI::Range(1, 1 << 20))
          ->type_name("K");
  app.add_option("--max-answer-length", o.qa.max_answer_length, "tokens of an answer (default: 30)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option(
         "--null-margin", o.qa.null_margin,
         "give no answer if its logit is above the best answer's by more than X (with -q: 0)")
      ->type_name("X");
  app.add_option("--threshold", o.qa.threshold, "with -q: only answers with at least this score")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(o.question)
      ->type_name("P");
  app.add_flag("--chars", o.chars, "start and end count code points");
  app.add_option(
         "--gold", o.gold,
         "field with the true answer, or a JSON array of answers: report exact match and F1")
      ->excludes(o.question)
      ->type_name("N");
}

/// Writes the answers of all records, best first. Returns 0, or 1 if there is no answer.
int search(tools::RowOptions& rows, AnswerRanking& ranking,
           const std::function<std::unique_ptr<Worker>()>& make_worker) {
  rows.stream().texts = 1;
  rows.stream().output_names = {"file", "record", "score", "start", "end", "answer"};
  const auto write = [&] {
    Rows answers(rows.stream().terminator);
    ranking.write(answers, rows.json());
    write_all(STDOUT_FILENO, answers.bytes());
  };
  try {
    const int status = rows.run(make_worker);
    const bool found = !ranking.empty();
    write();
    return status != 0 || found ? status : 1;
  } catch (const Error&) {
    write();  // answers of the records before the bad record
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Find the answer to a question in a text."};
  app.footer("qa -q 'who sat?' text.txt");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator, 2);
  tools::ModelOptions models(app, Overflow::window);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model("question-answering");
    const QuestionAnswering head = QuestionAnswering::open(model);
    TaskOptions task;
    models.fill(task, tokenizer, model, 384);  // 384 as in run_squad.py and transformers' pipeline
    if (options.top_k->count() > 0) rows.several_rows();
    if (options.question->count() > 0) rows.drop_rows();
    rows.fill(task);
    task.chars = options.chars;
    task.encode.truncation = Truncation::only_second;

    QaOptions& qa = options.qa;
    const bool searching = options.question->count() > 0;
    AnswerRanking ranking(options.top_k->count() > 0 ? qa.top_k : 10);
    AnswerMetrics metrics;
    if (searching) {
      qa.ranking = &ranking;
      qa.top_k = 1;
      if (!qa.null_margin) qa.null_margin = 0;
    }
    if (!options.gold.empty()) {
      qa.metrics = &metrics;
      rows.stream().want_truth("--gold", options.gold);
    }
    const auto make_worker = [&] {
      return std::make_unique<QaWorker>(tokenizer, model, head, qa, task);
    };
    if (searching) return search(rows, ranking, make_worker);
    rows.stream().output_names = {"answer", "score", "start", "end"};
    const int status = rows.run(make_worker);
    if (qa.metrics) tools::print_report(metrics.report());
    return status;
  });
}
