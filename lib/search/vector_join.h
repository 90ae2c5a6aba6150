#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/export.h"
#include "search/vector_source.h"

namespace bert {

/// Two vectors that are alike, first < second.
struct VectorPair {
  uint64_t first = 0, second = 0;
  double score = 0;
};

/// Calls `emit` for each pair whose cosine (vector_search.h) is at least `threshold`, ordered by
/// first, then by second, each once. Exact, as VectorSearch is. Memory does not grow with the
/// number of pairs: only those of a block of first vectors are held, and blocks get smaller
/// where there are many. Stops when `emit` returns false. An exception of `read` is passed on.
BERT_API void self_join(const VectorSource& vectors, double threshold, int threads,
                        const std::function<bool(const VectorPair&)>& emit);

}  // namespace bert
