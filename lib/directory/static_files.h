#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/export.h"
#include "directory/model_directory.h"

namespace bert {

/// A directory of static vectors: a model without layers, where a text's vector is the mean of its
/// tokens' vectors, which stand in a table. One of
///
///   model2vec              config.json, tokenizer.json, weights with `embeddings`
///   sentence-transformers  modules.json that begins with a StaticEmbedding, and its folder with
///                          tokenizer.json and weights with `embedding.weight`
///
/// A directory that is both is model2vec's, whose rules its vectors were made for.
struct BERT_API StaticFiles {
  enum class Kind { model2vec, static_embedding };
  Kind kind = Kind::model2vec;
  std::string folder;      ///< holds tokenizer.json and the weights
  bool normalize = false;  ///< as model2vec's config.json says; of the other kind modules say it
  std::optional<size_t> max_length;  ///< tokens, as model2vec's config.json says

  /// nullopt: the directory holds another model, or none. Throws Error(unsupported) for a value of
  /// config.json that is out of range.
  static std::optional<StaticFiles> find(const ModelDirectory& directory);
};

/// For those who need layers. Throws Error(unsupported) where config.json or modules.json says that
/// these are static vectors.
BERT_API void refuse_static_vectors(const ModelDirectory& directory);
/// The same error, for who knows that they are.
[[noreturn]] BERT_API void throw_static_vectors(const ModelDirectory& directory);

}  // namespace bert
