#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// config.json of model2vec's StaticModel: a vector for each token, and no layers.
struct BERT_API StaticConfig {
  bool named = false;      ///< model_type says so; else the file has none, and the weights tell
  bool normalize = false;  ///< the mean of the vectors becomes one of length 1
  std::optional<size_t> max_length;  ///< tokens; nullopt: no limit

  /// nullopt: there is no such file, or it is that of another model. Throws Error(unsupported) for
  /// a value out of range.
  static std::optional<StaticConfig> find(const std::string& directory);
};

/// What model2vec calls its tensors: the vectors; which of them each token has; the factor of each
/// token. Without the second, tokens have the vectors in order.
inline constexpr std::string_view kStaticVectors = "embeddings";
inline constexpr std::string_view kStaticMapping = "mapping";
inline constexpr std::string_view kStaticWeights = "weights";
/// The vectors of sentence-transformers' StaticEmbedding.
inline constexpr std::string_view kStaticEmbedding = "embedding.weight";

/// For those who need layers. Throws Error(unsupported) where config.json or modules.json says that
/// these are static vectors.
BERT_API void refuse_static_vectors(const std::string& directory);
/// The same error, for who knows that they are.
[[noreturn]] BERT_API void throw_static_vectors(const std::string& directory);

}  // namespace bert
