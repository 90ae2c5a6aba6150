// tokenize - split each line of text into the tokens of a model. See man/tokenize.1.
#include "rows/tokenize.h"

#include <fmt/format.h>

#include <map>

#include "common/model_options.h"
#include "common/row_options.h"
#include "common/run.h"
#include "predict/opened_model.h"

using namespace bert;

namespace {

struct Options {
  bool ids = false, offsets = false, count = false, decode = false, stats = false;
  bool special = false, pair = false, chars = false, specials = false;
  std::string words;
  Truncation truncation = Truncation::longest_first;
};

void add(tools::Command& app, Options& o) {
  app.add({"--ids", "write ids instead of tokens"}, o.ids);
  app.add({"--offsets", "write one row per token: record index start end id token"}, o.offsets);
  app.add({"--count", "write the number of tokens"}, o.count);
  app.add({"--decode", "read ids and write their text"}, o.decode);
  app.add({"--stats", "write totals of all records: words, tokens, unknown tokens"}, o.stats);
  app.add({"--specials", "list the special tokens and their ids, and read no input"}, o.specials);
  app.add({"--special", "add [CLS] and [SEP]"}, o.special);
  app.add({"--pair", "read a pair of texts from two fields, and add [CLS] and [SEP]"}, o.pair)
      ->excludes(app.get_option("--special"));
  const tools::Declared words =
      app.add({"--words", "split into words, the longest of this dictionary", tools::text("DICT")},
              o.words);
  app.add({"--chars", "offsets count code points, not bytes"}, o.chars);
  app.add<Truncation>({"--truncation", "which text of a pair is cut"}, o.truncation,
                      {{"longest_first", Truncation::longest_first},
                       {"only_first", Truncation::only_first},
                       {"only_second", Truncation::only_second}})
      ->needs(app.get_option("--pair"))
      ->needs(app.get_option("--max-seq-length"));
  for (const char* other : {"--model", "--decode", "--special", "--specials", "--pair"})
    words->excludes(app.get_option(other));
}

/// Refuses what --specials does not read.
void refuse_unread(const tools::Command& app) {
  tools::refuse_given(app, {"--meta"}, "not with --specials, which reads no input");
  for (const CLI::Option* option : app.get_options()) {
    const tools::Declaration* declaration = app.declaration(option);
    if (!declaration || !declaration->changes_rows || option->count() == 0) continue;
    if (declaration->names == "--specials") continue;
    throw Error(Error::Kind::usage, tools::long_name(*declaration),
                "not with --specials, which reads no input");
  }
}

TokenizeOutput output_of(const tools::Command& app, const Options& o) {
  if (o.ids + o.offsets + o.count + o.decode + o.stats + o.specials > 1)
    throw Error(Error::Kind::usage, "",
                "wants only one of --ids, --offsets, --count, --decode, --stats, --specials");
  const std::initializer_list<const char*> of_texts = {
      "--pair", "--literal", "--max-seq-length", "--overflow", "--truncation-side", "--stride"};
  if (o.decode) tools::refuse_given(app, of_texts, "not with --decode, which reads ids");
  if (o.stats && app.count("--max-seq-length") == 0)
    tools::refuse_given(app, {"--special"}, "the totals of --stats leave special tokens out");
  if (o.specials) refuse_unread(app);
  return o.ids       ? TokenizeOutput::ids
         : o.offsets ? TokenizeOutput::offsets
         : o.count   ? TokenizeOutput::count
         : o.decode  ? TokenizeOutput::decoded
         : o.stats   ? TokenizeOutput::none
                     : TokenizeOutput::tokens;
}

tools::RowShape shape_of(TokenizeOutput output, Overflow overflow) {
  using Per = tools::RowShape::Per;
  if (output == TokenizeOutput::none) return {Per::none};
  const bool several = output == TokenizeOutput::offsets || overflow == Overflow::window;
  return {several ? Per::several : Per::one};
}

int print_specials(const Tokenizer& tokenizer) {
  for (const auto& [token, id] : tokenizer.special_tokens())
    tools::print(fmt::format("{}\t{}\n", token, id));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tools::Command app{"Split each line of text into the tokens of a model."};
  app.footer("echo 'an unbelievable story' | tokenize");
  tools::RowOptions rows(app, tools::RowOptions::Kind::transformer);
  tools::ModelOptions models(app, {}, tools::ModelOptions::Use::tokenizer);
  Options options;
  add(app, options);

  return tools::run(app, argc, argv, [&] {
    const TokenizeOutput output = output_of(app, options);
    const bool words = app.get_option("--words")->count() > 0;
    const Tokenizer tokenizer = words ? Tokenizer::open_words(options.words)
                                      : open_tokenizer(models.request(), ModelsTaken::any);
    if (words) rows.decide_by_file_alone(options.words);
    if (options.specials) return print_specials(tokenizer);
    TaskOptions task = task_options(models.request_without_model(), tokenizer,
                                    options.special || options.pair, options.pair);
    rows.fill(task, shape_of(output, task.overflow));
    if (options.chars && output != TokenizeOutput::offsets && !task.json)
      throw Error(Error::Kind::usage, "--chars", "wants --offsets or --json");
    if (options.stats && task.json)
      throw Error(Error::Kind::usage, "", "--stats and --json: wants one of them");
    task.encode.truncation = options.truncation;
    task.chars = options.chars;

    TokenizeTotals totals;
    rows.stream().texts = options.pair ? 2 : 1;
    rows.stream().output_names = TokenizeOptions{output}.columns();
    const int status = rows.run([&] {
      return std::make_unique<TokenizeWorker>(tokenizer,
                                              TokenizeOptions{output, options.pair, words}, task,
                                              options.stats ? &totals : nullptr);
    });
    if (options.stats) tools::print(totals.report());
    return status;
  });
}
