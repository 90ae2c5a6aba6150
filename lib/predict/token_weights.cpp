#include "predict/token_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/token_layer.h"

namespace bert {

std::optional<TokenWeights> TokenWeights::find(const Model& model, const Tokenizer& tokenizer) {
  auto layer =
      find_token_layer(model.directory(), file_names::kSparseLayer, model.config().hidden_size);
  if (!layer) return std::nullopt;
  if (layer->out_features != 1) {
    throw Error(Error::Kind::data, model.directory().file(file_names::kSparseLayer),
                fmt::format("its weight has {} rows, wants 1", layer->out_features));
  }
  TokenWeights weights(model, *std::move(layer));
  for (const auto& tokens : {tokenizer.frame().before, tokenizer.frame().after}) {
    for (const FrameToken& token : tokens) weights.skipped_.push_back(token.id);
  }
  weights.skipped_.push_back(tokenizer.pad_id());
  weights.skipped_.push_back(tokenizer.unk_id());
  return weights;
}

void TokenWeightPredictor::add(std::span<const int32_t> ids, ConstMatrix weights) {
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto& skipped = layer_.skipped_;
    if (std::find(skipped.begin(), skipped.end(), ids[t]) != skipped.end()) continue;
    const float weight = weights.row(t)[0];
    float& entry = text_[static_cast<size_t>(ids[t])];
    if (weight > entry || std::isnan(weight)) entry = weight;
  }
}

void TokenWeightPredictor::predict(const Sequences& sequences, size_t texts, const Use& use) {
  text_.assign(layer_.model_->config().vocab_size, 0.0f);
  size_t text = 0;
  const auto end_texts = [&](size_t next) {
    while (text < next) {
      use(text++, text_);
      std::fill(text_.begin(), text_.end(), 0.0f);
    }
  };
  batcher_.run(*layer_.model_, sequences.encodings(),
               [&](size_t first, const PackedBatch& batch, Matrix hidden) {
                 const Matrix weights = weights_.matrix(hidden.rows, 1);  // [T, 1]
                 layer_.linear_(hidden, weights, Activation::relu, batcher_.workspace().linear);
                 for (size_t s = 0; s < batch.sequences(); ++s) {
                   end_texts(sequences.texts()[first + s]);
                   add(sequences[first + s].input_ids,
                       weights.slice(batch.begin(s), batch.length(s)));
                 }
               });
  end_texts(texts);
}

}  // namespace bert
