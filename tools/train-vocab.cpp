// train-vocab - learn a WordPiece vocabulary from text. See man/train-vocab.1.
#include "common/as_text.h"
#include "common/row_options.h"
#include "common/run.h"
#include "tokenizer/train/train_vocab.h"

using namespace bert;

int main(int argc, char** argv) {
  tools::Command app{"Learn a WordPiece vocabulary from text."};
  app.footer("train-vocab --size 300 corpus.txt >vocab.txt");
  TrainVocabOptions options;
  app.add({"FILE", "text to learn from (default: standard input)", tools::text("TEXT")},
          options.files)
      .may_be_empty();
  app.add({"--size", "number of tokens with the five special ones (default: 30522)",
           tools::whole(5, 1 << 24)},
          options.vocab_size)
      .of("vocab_size");
  app.add({"--min-frequency", "least number of times that a piece occurs (default: 2)",
           tools::positive()},
          options.min_frequency);
  app.add({"--alphabet", "most characters in the alphabet (default: 1000)", tools::positive()},
          options.limit_alphabet);
  app.add({"--cased", "keep case and accents"}, options.cased);
  tools::add_as_text(app, options.wanted);
  app.add({"-q,--quiet", "show no notices"}, [] { tools::set_quiet(true); }).same_rows();

  return tools::run(app, argc, argv, [&] {
    tools::refuse_output(options.files);
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
