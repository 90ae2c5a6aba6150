// mlm-score - score each line of text with a masked language model. See man/mlm-score.1.
#include <deque>
#include <numbers>

#include "common/model_options.h"
#include "common/report.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"
#include "rows/mlm_score.h"

using namespace bert;

namespace {

struct Options {
  MlmScoreOptions score;
  bool per_token = false, per_word = false, words = false, pair = false;
  std::string context, group, regions, against;
  tools::ReportOption report;

  /// Whether a record has any number of rows.
  bool several() const { return per_token || per_word || words || !regions.empty(); }
};

void add(tools::Command& app, Options& o) {
  app.add<PllMetric>({"--metric", "what is hidden while a token is scored"}, o.score.metric,
                     {{"original", PllMetric::original},
                      {"word-l2r", PllMetric::word_l2r},
                      {"whole-word", PllMetric::whole_word}});
  app.add<ScoreUnit>(
      {"--normalize", "divide each score by the number of tokens or words"}, o.score.normalize,
      {{"none", ScoreUnit::none}, {"tokens", ScoreUnit::tokens}, {"words", ScoreUnit::words}});
  app.add({"--per-token", "write one row per token: record index token logprob"}, o.per_token);
  app.add({"--per-word", "write one row per word: record index word logprob"}, o.per_word);
  app.add({"--words", "write one row per word between blanks: record index word start end logprob"},
          o.words);
  app.add(
      {"--regions", "field with spans, such as 3-8 12-15: write one row per span", tools::column()},
      o.regions);
  app.add<double>({"--base", "the base of the logarithms"}, o.score.nats,
                  {{"e", 1.0}, {"2", std::numbers::ln2}, {"10", std::numbers::ln10}});
  app.add({"--pair", "score the texts of two fields and say which is better"}, o.pair);
  app.add({"--against", "pair: field with the better text (0, 1, 2) by another model, compared",
           tools::column()},
          o.against);
  app.add({"--context", "field with a text that comes before and is not scored", tools::column()},
          o.context);
  app.add({"--group", "field that names the record's group in the summary", tools::column()},
          o.group);
  const tools::Declared summary = app.add(
      {"--summary", "write accuracy (--pair) or pseudo-perplexity by group instead of rows"},
      o.score.summary_only);
  o.report.add(app, nullptr)->excludes(summary);
  app.add({"--tokens", "read tokens, as tokenize writes them"}, o.score.tokens);
}

void finish(const tools::Command& app, Options& o) {
  const bool regions = !o.regions.empty();
  if (int{o.per_token} + int{o.per_word} + int{o.words} + int{regions} + int{o.pair} > 1)
    throw Error(Error::Kind::usage, "",
                "wants one of --per-token, --per-word, --words, --regions, --pair");
  if (!o.pair) tools::refuse_given(app, {"--against"}, "wants --pair");
  if (o.score.tokens)
    tools::refuse_given(app, {"--words", "--regions"}, "reads text, not --tokens");
  if (o.score.summary_only)
    tools::refuse_given(app, {"--per-token", "--per-word", "--words", "--regions"},
                        "not with --summary");
  if (o.several() || (o.score.summary_only && !o.pair))
    tools::refuse_given(app, {"--normalize"}, "wants rows of records: it divides their scores");
  if (!o.score.summary_only && !o.pair && !o.report.given())
    tools::refuse_given(app, {"--group"}, "wants --summary, --pair or --report");
  if (o.per_token) o.score.output = ScoreOutput::per_token;
  if (o.per_word) o.score.output = ScoreOutput::per_word;
  if (o.words) o.score.output = ScoreOutput::words;
  if (regions) o.score.output = ScoreOutput::regions;
  if (o.pair) o.score.output = ScoreOutput::pair;
  o.score.context = !o.context.empty();
  o.score.group = !o.group.empty();
  o.score.against = !o.against.empty();
}

void settle_stream(const Options& o, tools::RowOptions& rows) {
  StreamOptions& stream = rows.stream();
  stream.texts = o.pair ? 2 : 1;
  stream.chunk_records = 16;  // a record has many sequences
  stream.want_field("context", o.context);
  stream.want_field("group", o.group);
  stream.want_field("regions", o.regions);
  stream.want_field("against", o.against);
  if (!stream.extra_fields.empty() && !o.pair && !rows.fields_given()) stream.fields = {"1"};
}

/// Writes the report to stdout with --summary, else the accuracy of pairs to stderr.
void report(const ScoreSummary& summary, const Options& o, bool json) {
  if (const std::string told = summary.unknown_text(); !told.empty()) tools::notice(told);
  if (o.score.summary_only && json) tools::print(summary.json(o.pair, o.score.group) + "\n");
  if (o.score.summary_only && !json) tools::print(summary.table(o.pair, o.score.group));
  if (o.score.summary_only || !o.pair || o.report.given()) return;
  for (const std::string& line : summary.accuracies(o.score.group)) tools::notice(line);
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Score each line of text with a masked language model."};
  app.footer("mlm-score text.txt | sort -g | head -n 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, task_spec(TaskKind::fill_mask));
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(app, options);
    TaskRequest request = models.request();
    request.many_rows = true;  // a copy of the sentence for each masked token
    const OpenedModel opened(request);
    const MaskedLM head = MaskedLM::open(opened.model());
    TaskOptions task = task_options(opened);
    using Per = tools::RowShape::Per;
    rows.fill(task, {options.score.summary_only ? Per::none
                     : options.several()        ? Per::several
                                                : Per::one});
    settle_stream(options, rows);
    rows.stream().output_names = options.score.columns();

    std::deque<ScoreSummary> summaries;  // one for each worker
    ScoreSummary sum;
    sum.nats = options.score.nats;
    sum.against = options.score.against;
    const auto make_worker = [&] {
      return std::make_unique<MlmScoreWorker>(opened.tokenizer(), opened.model(), head,
                                              options.score, summaries.emplace_back(), task);
    };
    const int status = options.report.run(rows, make_worker, [&](const Resampling&) {
      for (const ScoreSummary& part : summaries) sum += part;
      const bool groups = options.score.group;
      return tools::Report{"", sum.report(options.pair, groups), "",
                           sum.json(options.pair, groups)};
    });
    if (!tools::within_memo()) report(sum, options, rows.json());
    return status;
  });
}
