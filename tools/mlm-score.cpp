// mlm-score - score each line of text with a masked language model. See man/mlm-score.1.
#include <deque>

#include "common/options.h"
#include "common/run.h"
#include "mlm/mlm_score.h"

using namespace bert;

namespace {

struct Options {
  MlmScoreOptions score;
  bool per_token = false, per_word = false, pair = false;
  std::string context, group;
};

void add(CLI::App& app, Options& o) {
  tools::add_choice<PllMetric>(app, "--metric", o.score.metric,
                               {{"original", PllMetric::original},
                                {"word-l2r", PllMetric::word_l2r},
                                {"whole-word", PllMetric::whole_word}},
                               "what is hidden while a token is scored");
  tools::add_choice<ScoreUnit>(
      app, "--normalize", o.score.normalize,
      {{"none", ScoreUnit::none}, {"tokens", ScoreUnit::tokens}, {"words", ScoreUnit::words}},
      "divide each score by the number of tokens or words");
  app.add_flag("--per-token", o.per_token, "write one row per token: record index token logprob");
  app.add_flag("--per-word", o.per_word, "write one row per word: record index word logprob");
  app.add_flag("--pair", o.pair, "score the texts of two fields and say which is better");
  app.add_option("--context", o.context, "field with a text that comes before and is not scored")
      ->type_name("N");
  app.add_option("--group", o.group, "field that names the record's group in the summary")
      ->type_name("N");
  app.add_flag("--summary", o.score.summary_only,
               "write accuracy (--pair) or pseudo-perplexity by group instead of rows");
  app.add_flag("--tokens", o.score.tokens, "read tokens, as tokenize writes them");
}

void finish(Options& o) {
  if (int{o.per_token} + int{o.per_word} + int{o.pair} > 1) {
    throw Error(Error::Kind::usage, "", "wants one of --per-token, --per-word, --pair");
  }
  if (o.per_token) o.score.output = ScoreOutput::per_token;
  if (o.per_word) o.score.output = ScoreOutput::per_word;
  if (o.pair) o.score.output = ScoreOutput::pair;
  o.score.context = !o.context.empty();
  o.score.group = !o.group.empty();
}

std::vector<std::string> column_names(const Options& o) {
  if (o.score.summary_only && o.pair) return {"group", "pairs", "accuracy", "ties"};
  if (o.score.summary_only) return {"group", "records", "tokens", "pll", "perplexity"};
  if (o.per_token) return {"index", "token", "logprob"};
  if (o.per_word) return {"index", "word", "logprob"};
  if (o.pair) return {"pll", "pll_pair", "better"};
  return {"pll", "tokens"};
}

/// Writes the table of groups to stdout with --summary, else the accuracy of pairs to stderr.
void report(const ScoreSummary& summary, const Options& o) {
  if (o.score.summary_only) {
    tools::print(summary.table(o.pair, o.score.group));
  } else if (o.pair) {
    for (const std::string& line : summary.accuracies(o.score.group)) tools::notice(line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Score each line of text with a masked language model."};
  app.footer("mlm-score text.txt | sort -g | head -n 3");
  tools::RowOptions rows(app, tools::RowOptions::Kind::annotator);
  tools::ModelOptions models(app, Overflow::cut);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    finish(options);
    const Tokenizer tokenizer = models.open_tokenizer();
    // Many rows: a copy of the sentence for each masked token.
    const Model model = models.open_model("fill-mask", /*many_rows=*/true);
    const MaskedLM head = MaskedLM::open(model);
    TaskOptions task;
    models.fill(task, tokenizer, model);
    if (options.score.summary_only) {
      rows.drop_rows();
    } else if (options.per_token || options.per_word) {
      rows.several_rows();
    }
    rows.fill(task);
    StreamOptions& stream = rows.stream();
    stream.texts = options.pair ? 2 : 1;
    stream.chunk_records = 16;  // a record has many sequences
    stream.want_field("--context", options.context);
    stream.want_field("--group", options.group);
    if (!stream.extra_fields.empty() && !options.pair && app.count("--fields") == 0) {
      stream.fields = {"1"};
    }
    stream.output_names = column_names(options);

    std::deque<ScoreSummary> summaries;  // one for each worker
    const int status = rows.run([&] {
      return std::make_unique<MlmScoreWorker>(tokenizer, model, head, options.score,
                                              summaries.emplace_back(), task);
    });
    ScoreSummary sum;
    for (const ScoreSummary& part : summaries) sum += part;
    report(sum, options);
    return status;
  });
}
