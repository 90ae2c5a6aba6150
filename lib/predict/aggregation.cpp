#include "predict/aggregation.h"

#include <algorithm>

namespace bert {
namespace {

const float* best(const float* scores, size_t labels) {
  return std::max_element(scores, scores + labels);
}

/// [pieces, labels] of a word -> one distribution, in row 0.
void merge(Aggregation aggregation, Matrix pieces) {
  float* out = pieces.row(0);
  if (aggregation == Aggregation::max) {
    size_t surest = 0;
    for (size_t i = 1; i < pieces.rows; ++i) {
      if (*best(pieces.row(i), pieces.cols) > *best(pieces.row(surest), pieces.cols)) surest = i;
    }
    if (surest > 0) std::copy_n(pieces.row(surest), pieces.cols, out);
  } else if (aggregation == Aggregation::average) {
    for (size_t i = 1; i < pieces.rows; ++i) {
      for (size_t k = 0; k < pieces.cols; ++k) out[k] += pieces.row(i)[k];
    }
    for (size_t k = 0; k < pieces.cols; ++k) out[k] /= static_cast<float>(pieces.rows);
  }
}

}  // namespace

std::vector<LabelledWord> aggregate(Aggregation aggregation, std::span<const int32_t> word_ids,
                                    Matrix scores) {
  std::vector<LabelledWord> words;
  for (size_t first = 0, last = 0; first < word_ids.size(); first = last) {
    ++last;
    while (by_word(aggregation) && last < word_ids.size() && word_ids[last] == word_ids[first]) {
      ++last;
    }
    merge(aggregation, scores.slice(first, last - first));
    const float* row = scores.row(first);
    const float* top = best(row, scores.cols);
    words.push_back({first, last - first, static_cast<size_t>(top - row), *top});
  }
  return words;
}

}  // namespace bert
