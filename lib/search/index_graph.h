#pragma once

// The file of an index, and the graph of hnswlib in it. Only index_build.cpp and index.cpp include
// this header.

// hnswlib's prefetches read behind a list, and are of no use where rows stay in their file.
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "io/matrix_file.h"
#include "ops/kernels.h"
#include "search/indexed_vectors.h"
#include "search/vector_copies.h"

/// hnswlib's own generator is shared by all threads without a lock.
template <>
int hnswlib::HierarchicalNSW<float>::getRandomLevel(double);

namespace bert {

using Graph = hnswlib::HierarchicalNSW<float>;

constexpr size_t kLinks = 16;                   ///< hnswlib calls it M
constexpr uint64_t kQuery = uint64_t{1} << 63;  ///< marks a query's address among numbers

/// The begin of the file. The elements of the lowest level follow, then their links in higher
/// levels, then 1 / |x| of each bundle's first vector, then the bundles (vector_copies.h): where
/// bundles begin, where vectors begin, the rows; then the level of each element, one byte.
struct IndexHeader {
  char magic[8] = {'B', 'E', 'R', 'T', 'H', 'N', 'S', 'W'};
  uint64_t version = 2;
  IndexedVectors of;
  uint64_t bundles = 0, distinct = 0;          ///< elements of the graph; vectors without copies
  uint64_t element_bytes = 0, link_bytes = 0;  ///< an element; its links in a higher level
  uint64_t entry = 0, top_level = 0;
  uint64_t body = 0;  ///< xxh64 of what follows
};
static_assert(std::is_trivially_copyable_v<IndexHeader>);

/// What hnswlib compares: it holds numbers of bundles, and their first rows stay in their file.
struct RowSpace : hnswlib::SpaceInterface<float> {
  Buffer converted;                ///< the rows, unless the file's own serve
  std::vector<const float*> rows;  ///< [B]
  std::vector<float> inverse;      ///< [B] 1 / length, or 0
  size_t width = 0;                ///< D

  void take(const MatrixFile& vectors, const VectorBundles& bundles, std::vector<float> lengths);

  size_t get_data_size() override { return sizeof(uint64_t); }
  void* get_dist_func_param() override { return this; }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance; }

  /// 1 - cosine; a query has length 1.
  static float distance(const void* a, const void* b, const void* space) {
    const auto& self = *static_cast<const RowSpace*>(space);
    float scale = 1;
    const float* x = self.at(a, scale);
    const float* y = self.at(b, scale);
    return 1 - scale * dot(x, y, self.width);
  }
  const float* at(const void* where, float& scale) const {
    uint64_t number = 0;
    std::memcpy(&number, where, sizeof number);
    if (number & kQuery) return reinterpret_cast<const float*>(number & ~kQuery);
    scale *= inverse[number];
    return rows[number];
  }
};

/// Throws Error(data) that names the row of a number that is not finite.
std::vector<float> inverse_lengths(const VectorSource& vectors, const VectorBundles& bundles);
/// x / |x|, or zeros.
void to_unit(std::span<const float> x, float* unit);
double length_of(std::span<const float> x);

}  // namespace bert
