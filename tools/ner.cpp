// ner - find the names in each line of text. See man/ner.1.
#include "rows/ner.h"

#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"

using namespace bert;

namespace {

struct Options {
  NerOptions ner;
  bool chars = false;
  tools::ReportOption report;
};

void add(tools::Command& app, Options& o) {
  NerOptions& ner = o.ner;
  app.add<Aggregation>({"--aggregation", "how the pieces of a word get one label (default: first)"},
                       ner.aggregation,
                       {{"none", Aggregation::none},
                        {"simple", Aggregation::simple},
                        {"first", Aggregation::first},
                        {"average", Aggregation::average},
                        {"max", Aggregation::max}});
  auto words = app.add({"--words", "the words of the text are separated by blanks"},
                       [&ner] { ner.input = NerInput::words; });
  auto columns = app.add(
      {"--columns", "read CoNLL columns: one word per line, an empty line after each sentence"},
      [&ner] { ner.input = NerInput::columns; });
  auto marked = app.add({"--inline", "write the text with its entities marked"},
                        [&ner] { ner.output = NerOutput::marked; });
  auto conll =
      app.add({"--conll", "write one row per word with its label, an empty row after each record"},
              [&ner] { ner.output = NerOutput::columns; });
  app.add({"--scores", "with --json: every word too, with the probability of each label"},
          ner.scores);
  app.add({"--threshold", "write only entities with at least this score", tools::real()},
          ner.threshold)
      ->excludes(conll);
  app.add({"--chars", "start and end count code points"}, o.chars);
  auto gold = app.add({"--gold",
                       "the last column is the true label: report precision, recall, F1 on stderr"},
                      o.ner.gold)
                  ->needs(columns);
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
  columns->excludes(words);
  conll->excludes(marked);
  for (const char* name : {"--fields", "--null", "--header"}) {
    columns->excludes(app.get_option(name));
  }
  conll->excludes(app.get_option("--header"));
}

/// Sets how records are read and what rows they become.
tools::RowShape settle_rows(const NerOptions& ner, StreamOptions& stream) {
  tools::RowShape shape;
  stream.paragraphs = ner.input == NerInput::columns;
  shape.number = ner.output != NerOutput::columns;
  shape.line = shape.number && ner.input != NerInput::columns;
  stream.output_names = names_of<MarkedRow>();
  if (ner.output != NerOutput::rows) return shape;
  shape.record = tools::RowShape::Per::several;
  stream.output_names = names_of<EntityRow>();
  return shape;
}

void check(const Options& o, bool json) {
  if (o.ner.scores && !json) throw Error(Error::Kind::usage, "--scores", "wants --json");
  if (o.chars && o.ner.output != NerOutput::rows && !json)
    throw Error(Error::Kind::usage, "--chars", "these rows have no offsets");
  if (o.ner.output == NerOutput::columns && json)
    throw Error(Error::Kind::usage, "--conll", "not with --json or --jsonl");
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Find the names in each line of text."};
  app.footer("echo 'Ada Lovelace was born in London.' | ner");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, task_spec(TaskKind::token_classification));
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const OpenedModel opened(models.request());
    const TokenLabelPredictor predictor(opened.tokenizer(), opened.model());
    const NerOptions& ner = options.ner;
    TaskOptions task = task_options(opened);
    rows.fill(task, settle_rows(ner, rows.stream()));
    check(options, rows.json());
    task.chars = options.chars;
    EntityMetrics metrics(predictor.labels());
    TagSink sink;
    std::function<tools::Report()> report;
    if (ner.gold) {
      sink = [&](auto gold, auto predicted) { metrics.add(gold, predicted); };
      report = [&] {
        if (!metrics.unknown().empty()) tools::notice(metrics.unknown());
        return tools::report_of(metrics, options.report)();
      };
    }
    return options.report.run(
        rows, [&] { return std::make_unique<NerWorker>(predictor, ner, task, sink); }, report);
  });
}
