#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/vector_source.h"

namespace bert {

/// [N]: the first vector that is equal to this one, bit by bit. Vectors of zeros have no equals,
/// since their cosine is 0. Nor have vectors that share a hash with different ones, which costs
/// comparisons and changes no result.
std::vector<uint64_t> originals(const VectorSource& vectors);

/// The vectors of these indices. Both must outlive the source.
VectorSource some_of(const VectorSource& vectors, const std::vector<uint64_t>& indices);

/// Vectors in bundles of copies and near copies: a vector has a cosine of at least 1 - 1e-6 with
/// the first vector of its bundle, so their cosines with a third vector are hard to tell apart in
/// floats. Most near copies share a bundle, not all: that no two bundles are near is not promised.
///
///   N rows, V distinct vectors, B bundles
struct VectorBundles {
  std::vector<uint32_t> rows;     ///< [N] equal rows stand together, ascending
  std::vector<uint32_t> vectors;  ///< [V + 1] where the rows of each distinct vector begin
  std::vector<uint32_t> bundles;  ///< [B + 1] where the vectors of each bundle begin

  size_t vector_count() const { return vectors.size() - 1; }
  size_t size() const { return bundles.size() - 1; }
  std::span<const uint32_t> rows_of(size_t vector) const {
    return std::span(rows).subspan(vectors[vector], vectors[vector + 1] - vectors[vector]);
  }
  uint32_t first_of(size_t bundle) const { return rows[vectors[bundles[bundle]]]; }
};
/// Fewer than 2^32 vectors. Bundles stand in the order of their first rows.
VectorBundles bundle_copies(const VectorSource& vectors);

}  // namespace bert
