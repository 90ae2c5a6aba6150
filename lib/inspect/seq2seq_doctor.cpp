#include "inspect/seq2seq_doctor.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "checkpoint/weights.h"
#include "directory/file_names.h"
#include "inspect/findings.h"
#include "io/json.h"
#include "seq2seq/decoder.h"
#include "tokenizer/translation_tokenizers.h"

namespace bert {

size_t check_seq2seq_model(const ModelDirectory& directory, Rows& rows, std::string_view name) {
  Findings findings(rows, name);
  std::unique_ptr<Seq2Seq> model;
  findings.look("model", [&] {
    model = Seq2Seq::open(directory);
    const size_t layers = model->attention_layers();
    const Json root = directory.document(file_names::kConfig).root();
    const std::string type = printable(root.at("model_type").as_string());
    findings.say("ok", "model",
                 layers == 0
                     ? fmt::format("{} translates without attention to the source", type)
                     : fmt::format("{} translates; {} layers of {} heads look at the source", type,
                                   layers, model->attention_heads()));
    for (const NonFinite& tensor : model->non_finite()) {
      findings.say("warning", "weights", tensor.text());
    }
  });
  findings.look("tokenizer", [&] {
    const TranslationTokenizers tokenizers = TranslationTokenizers::open(directory);
    const size_t tokens = tokenizers.source.vocab_size();
    const size_t vectors = model ? model->source_vocab_size() : tokens;
    findings.say(tokens > vectors ? "error" : "ok", "tokenizer",
                 tokens > vectors ? fmt::format("{} tokens, but {} word vectors", tokens, vectors)
                                  : fmt::format("{} tokens of sources, {} of targets", tokens,
                                                tokenizers.target.vocab_size()));
  });
  return findings.errors();
}

}  // namespace bert
