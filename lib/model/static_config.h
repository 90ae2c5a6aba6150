#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/export.h"

namespace bert {

class Json;

/// config.json of model2vec's StaticModel: a vector for each token, and no layers.
struct BERT_API StaticConfig {
  bool named = false;      ///< model_type says so; else the file has none, and the weights tell
  bool normalize = false;  ///< the mean of the vectors becomes one of length 1
  std::optional<size_t> max_length;  ///< tokens; nullopt: no limit

  /// nullopt: it is that of another model. Throws Error(unsupported) for a value out of range.
  static std::optional<StaticConfig> read(const Json& root);
};

/// What model2vec calls its tensors: the vectors; which of them each token has; the factor of each
/// token. Without the second, tokens have the vectors in order.
inline constexpr std::string_view kStaticVectors = "embeddings";
inline constexpr std::string_view kStaticMapping = "mapping";
inline constexpr std::string_view kStaticWeights = "weights";
/// The vectors of sentence-transformers' StaticEmbedding.
inline constexpr std::string_view kStaticEmbedding = "embedding.weight";

}  // namespace bert
