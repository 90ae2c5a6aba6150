#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "search/vector_file.h"
#include "search/vector_search.h"

namespace bert {

/// An approximate search in the vectors of a file, for the cosine: a hierarchical navigable small
/// world graph (Malkov and Yashunin 2018), made and searched by hnswlib. The file of the index has
/// the graph alone, about 160 bytes a vector; it is mapped, as are the vectors. It knows the
/// vectors by the time and size of their file, as make does, and if the time differs by its xxh64.
///
/// `model`: a hash of the model that made the vectors; 0 if it is not known, which fits all.
///
/// Thread rule: const after open; threads may search at the same time.
class BERT_API VectorIndex {
 public:
  /// Writes the index of `vectors`. The graph depends on the order in which threads add rows, so
  /// two builds may differ. Throws Error as OutputFile; data if there are no vectors.
  static void build(const std::string& path, const VectorFile& vectors, uint64_t model,
                    int threads);
  /// `vectors` must outlive the index. Throws Error(data) if the index is broken, or of other
  /// vectors or another model.
  static VectorIndex open(const std::string& path, const VectorFile& vectors, uint64_t model);
  VectorIndex(VectorIndex&&) noexcept;
  ~VectorIndex();

  /// The k nearest of a query [D] that the graph leads to, best first. Their scores are those of
  /// similarity().
  std::vector<Neighbour> nearest(std::span<const float> query, size_t k) const;

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bert
