// train-vocab - learn a WordPiece vocabulary from text. See man/train-vocab.1.
#include "common/run.h"
#include "tokenizer/train/train_vocab.h"

using namespace bert;

int main(int argc, char** argv) {
  CLI::App app{"Learn a WordPiece vocabulary from text."};
  app.footer("train-vocab --size 300 corpus.txt >vocab.txt");
  TrainVocabOptions options;
  app.add_option("FILE", options.files, "text to learn from (default: standard input)");
  app.add_option("--size", options.vocab_size,
                 "number of tokens with the five special ones (default: 30522)")
      ->check(CLI::Range(5, 1 << 24))
      ->type_name("N");
  app.add_option("--min-frequency", options.min_frequency,
                 "least number of times that a piece occurs (default: 2)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--alphabet", options.limit_alphabet,
                 "most characters in the alphabet (default: 1000)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--cased", options.cased, "keep case and accents");
  app.add_flag_callback(
      "-q,--quiet", [] { tools::set_quiet(true); }, "show no notices");

  return tools::run(app, argc, argv, [&] {
    options.on_notice = tools::notice;
    const std::vector<std::string> tokens = train_vocab(options);
    std::string text;
    for (const std::string& token : tokens) text += token + "\n";
    tools::print(text);
    if (tokens.size() < options.vocab_size) {
      tools::notice(std::to_string(tokens.size()) + " tokens: the text has no more pieces that " +
                    "occur often enough");
    }
    return 0;
  });
}
