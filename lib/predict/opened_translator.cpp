#include "predict/opened_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "predict/head_list.h"
#include "predict/text_limits.h"

namespace bert {

OpenedTranslator::OpenedTranslator(const TaskRequest& request)
    : request_(request), model_(open_model()), tokenizers_(open_tokenizers()) {}

std::unique_ptr<Seq2Seq> OpenedTranslator::open_model() const {
  const TaskRequest& r = request_;
  if (!r.head.empty()) throw Error::of_field("head", "models that translate have none");
  auto model = Seq2Seq::open(r.directory, r.dtype);
  if (r.ablate) {
    Config sizes;
    sizes.num_hidden_layers = model->attention_layers();
    sizes.num_attention_heads = model->attention_heads();
    model->ablate(parse_heads(*r.ablate, "ablate", sizes));
  }
  if (r.hold) model->hold();
  if (!r.strict) return model;
  for (const NonFinite& tensor : model->non_finite()) {
    throw Error(Error::Kind::data, model->path(), tensor.text());
  }
  return model;
}

TranslationTokenizers OpenedTranslator::open_tokenizers() const {
  TranslationTokenizers tokenizers = TranslationTokenizers::open(request_.directory);
  for (const std::string& warning : tokenizers.source.warnings()) request_.warn_of(warning);
  return tokenizers;
}

ReadOptions OpenedTranslator::reading() const {
  const Tokenizer& source = tokenizers_.source;
  const std::pair<size_t, size_t> sizes[] = {
      {source.vocab_size(), model_->source_vocab_size()},
      {tokenizers_.target.vocab_size(), model_->output().size()}};
  for (const auto& [tokens, rows] : sizes) {
    if (tokens <= rows) continue;
    throw Error(Error::Kind::data, request_.directory.path(),
                fmt::format("a vocabulary of {} tokens, wants at most {}, the rows of the model",
                            tokens, rows));
  }
  TextLimits limits;
  limits.positions = model_->max_source_tokens();
  limits.own = std::min(limits.positions, source.model_max_length().value_or(SIZE_MAX));
  limits.added = source.added_tokens_single();
  limits.truncates_left = source.truncates_left();
  return limits.reading(request_);
}

std::vector<std::string> OpenedTranslator::bad_weights() const {
  std::vector<std::string> lines;
  for (const NonFinite& tensor : model_->non_finite()) {
    lines.push_back(model_->path() + ": " + tensor.text());
  }
  return lines;
}

}  // namespace bert
