#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encoder/static_vectors.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// Static vectors, and the rules by which a text has them: those of model2vec's StaticModel.encode
/// or of sentence-transformers' StaticEmbedding.
struct BERT_API StaticText {
  StaticVectors vectors;
  bool normalize = false;   ///< as model2vec's config.json says
  size_t max_length = 0;    ///< tokens; 0: no limit
  int32_t left_out = -1;    ///< the token that has no say; -1: all have
  size_t token_length = 0;  ///< characters of a token, the median; 0: texts are not cut by it

  /// Throws Error as StaticVectors::open.
  static StaticText open(const StaticFiles& files, const Tokenizer& tokenizer);

  /// What model2vec tokenizes of a text whose limit is `tokens` tokens: so many times token_length
  /// characters.
  std::string_view cut(std::string_view text, size_t tokens) const;
};

/// The tokenizer of a directory, of static vectors or of a model with layers. Throws Error as
/// Tokenizer::open.
BERT_API Tokenizer open_any_tokenizer(const ModelDirectory& directory);

}  // namespace bert
