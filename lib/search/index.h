#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "io/matrix_file.h"
#include "search/vector_search.h"

namespace bert {

/// An approximate search in the vectors of a file, for the cosine: a hierarchical navigable small
/// world graph (Malkov and Yashunin 2018), made and searched by hnswlib. Copies and near copies
/// (vector_copies.h) are one element of the graph: each link of an element leads to one of its
/// nearest, so links between many copies would cut off all others. The file of the index has the
/// graph and which rows are copies, about 170 bytes a vector; it is mapped, as are the vectors.
///
/// Thread rule: const after open; threads may search at the same time.
class BERT_API VectorIndex {
 public:
  /// `vectors` must outlive the index. `model`: a hash of the model that made them; 0 if it is not
  /// known, which fits all. Throws Error(data) if the index is broken, or of other vectors or
  /// another model.
  static VectorIndex open(const std::string& path, const MatrixFile& vectors, uint64_t model);
  VectorIndex(VectorIndex&&) noexcept;
  ~VectorIndex();

  /// The k nearest of a query [D] that the graph leads to, with all their copies, in the order of
  /// better(). Their scores are those of similarity().
  std::vector<Neighbour> nearest(std::span<const float> query, size_t k) const;

  /// How many of the 10 nearest distinct vectors are found for a sample of the distinct vectors,
  /// compared with the exact search.
  struct Recall {
    size_t sample = 0, wanted = 0, found = 0;
  };
  Recall recall(int threads) const;

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bert
