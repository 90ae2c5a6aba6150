#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matrix.h"

namespace bert {

/// How the pieces of a word come to one label: aggregation_strategy of transformers'
/// token-classification pipeline.
///   none, simple   not at all: each piece has its own     first     that of its first piece
///   average        the best of its pieces' mean           max       that of its surest piece
enum class Aggregation { none, simple, first, average, max };

inline bool by_word(Aggregation a) { return a != Aggregation::none && a != Aggregation::simple; }

/// A token, or a word with all its tokens, and its best label.
struct LabelledWord {
  size_t first = 0, count = 0;  ///< tokens
  size_t label = 0;
  double score = 0;
};

/// The labelled words (or tokens) of a text.
///   word_ids  [tokens]   tokens in a row with one id are a word
///   scores    [tokens, labels]   of the tokens; row `first` of a word becomes the word's own
std::vector<LabelledWord> aggregate(Aggregation aggregation, std::span<const int32_t> word_ids,
                                    Matrix scores);

}  // namespace bert
