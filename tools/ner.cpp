// ner - find the names in each line of text. See man/ner.1.
#include "rows/ner.h"

#include <algorithm>
#include <optional>

#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "io/mapped_file.h"
#include "predict/opened_model.h"
#include "rows/open_ner.h"

using namespace bert;

namespace {

struct Options {
  NerOptions ner;
  EntityRule rule;
  std::string labels, labels_file;
  std::optional<double> threshold;
  bool chars = false;
  tools::ReportOption report;
};

void add_names(tools::Command& app, Options& o) {
  auto labels = app.add({"--labels", "names of the types to find, for a model that takes any",
                         tools::text("A,B,...")},
                        o.labels);
  app.add({"--labels-file", "the same from a file, one name a line", tools::text("FILE")},
          o.labels_file)
      ->excludes(labels);
  app.add({"--nested", "with --labels: an entity may lie in another"}, o.rule.nested);
  app.add({"--multi-label", "with --labels: the same words may have several types"},
          o.rule.several);
}

void add(tools::Command& app, Options& o) {
  NerOptions& ner = o.ner;
  add_names(app, o);
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
  app.add({"--threshold",
           "write only entities with at least this score; with --labels above it (default: 0.5)",
           tools::real()},
          o.threshold);
  app.add({"--chars", "start and end count code points"}, o.chars);
  auto gold = app.add({"--gold",
                       "the last column is the true label: report precision, recall, F1 on stderr"},
                      o.ner.gold)
                  ->needs(columns);
  o.report.add(app, gold);
  o.report.add_seed(app, gold);
  columns->excludes(words);
  conll->excludes(marked);
  for (const char* name : {"--fields", "--null", "--header", "--csv"}) {
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

/// The lines of a file, each of which names a type.
std::vector<std::string> read_lines(const std::string& path) {
  const MappedFile file = MappedFile::open(path, 1 << 20);
  std::vector<std::string> names;
  for (std::string_view rest = file.text(); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.ends_with('\r')) name.remove_suffix(1);
    if (name.empty()) continue;
    const std::string text(name);
    if (text.find('\t') != text.npos || std::find(names.begin(), names.end(), text) != names.end())
      throw Error(
          Error::Kind::data, path,
          "found '" + printable(text) + "', wants different names without tabs, one a line");
    names.push_back(text);
  }
  if (names.empty()) throw Error(Error::Kind::data, path, "has no name");
  return names;
}

/// Whether the model takes names of types, and the options fit that.
bool takes_names(const tools::Command& app, const ModelDirectory& directory) {
  const bool given =
      app.get_option("--labels")->count() + app.get_option("--labels-file")->count() > 0;
  if (!directory.gliner()) {
    if (given) directory.config();  // a model of no known kind is one of no types
    if (given)
      throw Error(Error::Kind::usage, "--labels",
                  directory.path() +
                      " has fixed types; to name types wants a GLiNER model, such "
                      "as urchade/gliner_small-v2.1 (bert-pull downloads it)");
    tools::refuse_given(app, {"--nested", "--multi-label"}, "wants --labels");
    return false;
  }
  if (!given)
    throw Error(Error::Kind::usage, "--labels",
                directory.path() + " finds what you name, wants names: --labels person,place");
  tools::refuse_given(app, {"--aggregation", "--scores", "--truncation-side"},
                      "wants a model with fixed types, not --labels");
  if (app.get_option("--conll")->count() + app.get_option("--gold")->count() > 0)
    tools::refuse_given(app, {"--nested", "--multi-label"}, "a word has one label there");
  return true;
}

/// What the runs of both kinds of models share: a worker of this class over a predictor.
template <typename W, typename Predictor, typename Shape>
int run(Options& o, tools::RowOptions& rows, TaskOptions task, const Predictor& predictor,
        const Shape& shape, const std::vector<std::string>& tags) {
  rows.fill(task, settle_rows(o.ner, rows.stream()));
  check(o, rows.json());
  task.chars = o.chars;
  EntityMetrics metrics(tags);
  TagSink sink;
  tools::MakeReport report;
  if (o.ner.gold) {
    sink = [&](auto gold, auto predicted) { metrics.add(gold, predicted); };
    report = [&](const Resampling& how) {
      if (!metrics.unknown().empty()) tools::notice(metrics.unknown());
      return tools::report_of(metrics)(how);
    };
  }
  return o.report.run(
      rows, [&] { return std::make_unique<W>(predictor, shape, task, sink); }, report);
}

int run_open(Options& o, tools::RowOptions& rows, TaskRequest request) {
  if (request.tail > 0)
    throw Error(Error::Kind::usage, "--overflow", "found head-tail, wants window, cut or error");
  request.task = task_spec(TaskKind::open_entities);
  const OpenedModel opened(request);
  OpenEntityOptions names{
      o.labels_file.empty() ? tools::read_names("--labels", o.labels) : read_lines(o.labels_file),
      o.threshold.value_or(0.5), o.rule};
  EntityRows shape = o.ner;
  shape.nested = o.rule.nested || o.rule.several;
  const OpenEntityPredictor predictor(opened.tokenizer(), opened.model(), std::move(names));
  TaskOptions task = task_options(opened);
  task.limit_source = std::to_string(predictor.head().config().max_words) + " words (max_len)";
  return run<OpenNerWorker>(o, rows, task, predictor, shape, predictor.tags());
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Find the names in each line of text."};
  app.footer("echo 'Ada Lovelace was born in London.' | ner");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, task_spec(TaskKind::token_classification));
  Options options;
  add(app, options);
  rows.add_search(app);

  return tools::run(app, argc, argv, [&] {
    if (takes_names(app, models.request().directory))
      return run_open(options, rows, models.request());
    if (options.threshold && options.ner.output == NerOutput::columns)
      throw Error(Error::Kind::usage, "", "--conll excludes --threshold (see ner --help)");
    options.ner.threshold = options.threshold.value_or(0);
    const OpenedModel opened(models.request());
    const TokenLabelPredictor predictor(opened.tokenizer(), opened.model());
    return run<NerWorker>(options, rows, task_options(opened), predictor, options.ner,
                          predictor.labels());
  });
}
