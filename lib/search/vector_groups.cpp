#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/hash.h"
#include "search/vector_join.h"

namespace bert {
namespace {

std::string_view bytes_of(ConstMatrix row) {
  return {reinterpret_cast<const char*>(row.data), row.cols * sizeof(float)};
}

/// [N]: the first vector that is equal to this one, bit by bit. Vectors of zeros have no equals,
/// since their cosine is 0. Nor have vectors that share a hash with different ones, which costs
/// comparisons and changes no result.
std::vector<uint64_t> originals(const VectorSource& vectors) {
  struct Hashed {
    uint64_t hash, index;
  };
  Buffer scratch, other;
  std::vector<Hashed> hashes;
  for (size_t i = 0; i < vectors.rows; ++i) {
    const ConstMatrix row = vectors.read(i, 1, scratch);
    const bool zero = std::all_of(row.data, row.data + row.cols, [](float x) { return x == 0; });
    if (!zero) hashes.push_back({xxh64(bytes_of(row)), i});
  }
  std::sort(hashes.begin(), hashes.end(), [](const Hashed& a, const Hashed& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
  });
  std::vector<uint64_t> original(vectors.rows);
  std::iota(original.begin(), original.end(), uint64_t{0});
  for (size_t begin = 0, i = 1; i < hashes.size(); ++i) {
    if (hashes[i].hash != hashes[begin].hash) {
      begin = i;
    } else if (bytes_of(vectors.read(hashes[begin].index, 1, scratch)) ==
               bytes_of(vectors.read(hashes[i].index, 1, other))) {
      original[hashes[i].index] = hashes[begin].index;
    }
  }
  return original;
}

/// The vectors of these indices.
VectorSource some_of(const VectorSource& vectors, const std::vector<uint64_t>& indices) {
  return {indices.size(), vectors.width, [&](size_t first, size_t count, Buffer& scratch) {
            const Matrix rows = scratch.matrix(count, vectors.width);
            Buffer own;
            for (size_t i = 0; i < count; ++i) {
              copy(vectors.read(indices[first + i], 1, own), rows.slice(i, 1));
            }
            return ConstMatrix(rows);
          }};
}

VectorGroups connect(const VectorSource& vectors, double threshold, int threads) {
  VectorGroups groups;
  groups.score.assign(vectors.rows, -std::numeric_limits<double>::infinity());
  // A forest whose roots are the smallest index of their tree.
  std::vector<uint64_t>& parent = groups.first;
  parent.resize(vectors.rows);
  std::iota(parent.begin(), parent.end(), uint64_t{0});
  const auto root = [&](uint64_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  self_join(vectors, threshold, threads, [&](const VectorPair& pair) {
    const uint64_t a = root(pair.first), b = root(pair.second);
    parent[std::max(a, b)] = std::min(a, b);
    for (const uint64_t i : {pair.first, pair.second}) {
      groups.score[i] = std::max(groups.score[i], pair.score);
    }
    return true;
  });
  for (uint64_t i = 0; i < parent.size(); ++i) {
    parent[i] = root(i);
    if (std::isinf(groups.score[i])) groups.score[i] = 1;
  }
  return groups;
}

}  // namespace

VectorGroups group(const VectorSource& vectors, double threshold, int threads) {
  // Copies have the cosine 1. Without them a file of n copies has n^2 / 2 pairs.
  std::vector<uint64_t> original;
  if (threshold <= 1) original = originals(vectors);
  std::vector<uint64_t> kept;
  std::vector<size_t> place(original.size());  // [N] of an original in `kept`
  for (uint64_t i = 0; i < original.size(); ++i) {
    place[i] = kept.size();
    if (original[i] == i) kept.push_back(i);
  }
  if (kept.size() == original.size()) return connect(vectors, threshold, threads);
  const VectorGroups few = connect(some_of(vectors, kept), threshold, threads);
  VectorGroups groups{std::vector<uint64_t>(vectors.rows), std::vector<double>(vectors.rows, 1.)};
  std::vector<bool> copied(vectors.rows);
  for (uint64_t i = 0; i < original.size(); ++i) {
    if (original[i] != i) copied[original[i]] = copied[i] = true;
  }
  for (uint64_t i = 0; i < vectors.rows; ++i) {
    const size_t at = place[original[i]];
    groups.first[i] = kept[few.first[at]];
    if (!copied[i]) groups.score[i] = few.score[at];
  }
  return groups;
}

}  // namespace bert
