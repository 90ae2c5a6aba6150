// ner - find the names in each line of text. See man/ner.1.
#include "tasks/ner.h"

#include "common/options.h"
#include "common/run.h"

using namespace bert;

namespace {

struct Options {
  NerOptions ner;
  bool chars = false;
  bool gold = false;
};

void add(CLI::App& app, Options& o) {
  NerOptions& ner = o.ner;
  tools::add_choice<Aggregation>(app, "--aggregation", ner.aggregation,
                                 {{"none", Aggregation::none},
                                  {"simple", Aggregation::simple},
                                  {"first", Aggregation::first},
                                  {"average", Aggregation::average},
                                  {"max", Aggregation::max}},
                                 "how the pieces of a word get one label (default: first)");
  auto* words = app.add_flag_callback(
      "--words", [&ner] { ner.input = NerInput::words; },
      "the words of the text are separated by blanks");
  auto* columns = app.add_flag_callback(
      "--columns", [&ner] { ner.input = NerInput::columns; },
      "read CoNLL columns: one word per line, an empty line after each sentence");
  auto* marked = app.add_flag_callback(
      "--inline", [&ner] { ner.output = NerOutput::marked; },
      "write the text with its entities marked");
  auto* conll = app.add_flag_callback(
      "--conll", [&ner] { ner.output = NerOutput::columns; },
      "write one row per word with its label, an empty row after each record");
  app.add_option("--threshold", ner.threshold, "write only entities with at least this score")
      ->type_name("X");
  app.add_flag("--chars", o.chars, "start and end count code points");
  app.add_flag("--gold", o.gold,
               "the last column is the true label: report precision, recall, F1 on stderr")
      ->needs(columns);
  columns->excludes(words);
  conll->excludes(marked);
  for (const char* name : {"--fields", "--null", "--header"}) {
    columns->excludes(app.get_option(name));
  }
  conll->excludes(app.get_option("--header"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Find the names in each line of text."};
  app.footer("echo 'Ada Lovelace was born in London.' | ner");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, Overflow::window);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const Tokenizer tokenizer = models.open_tokenizer();
    const Model model = models.open_model("token-classification");
    const TokenClassifier head = TokenClassifier::open(model);
    NerOptions& ner = options.ner;
    if (ner.input == NerInput::columns) {
      rows.drop_line();
      rows.stream().paragraphs = true;
    }
    if (ner.output == NerOutput::columns) rows.drop_number_and_line();
    if (ner.output == NerOutput::rows) {
      rows.several_rows();
      rows.stream().output_names = {"start", "end", "type", "score", "text"};
    } else {
      rows.stream().output_names = {"text"};
    }
    TaskOptions task;
    models.fill(task, tokenizer, model);
    rows.fill(task);
    task.chars = options.chars;
    EntityMetrics metrics;
    if (options.gold) ner.metrics = &metrics;
    const int status =
        rows.run([&] { return std::make_unique<NerWorker>(tokenizer, model, head, ner, task); });
    if (options.gold) tools::print_report(metrics.report());
    return status;
  });
}
