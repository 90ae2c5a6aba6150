#pragma once

#include <cstdint>
#include <vector>

#include "base/export.h"
#include "search/vector_source.h"

namespace bert {

/// Which group each vector belongs to: two vectors are in one group if a chain of pairs with a
/// cosine of at least `threshold` connects them (single linkage).
struct VectorGroups {
  std::vector<uint64_t> first;  ///< [N] index of the first vector of its group
  std::vector<double> score;  ///< [N] cosine with the nearest vector of its group; 1 if it is alone
};
BERT_API VectorGroups group(const VectorSource& vectors, double threshold, int threads);

}  // namespace bert
