#include "search/vector_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "search/vector_copies.h"
#include "search/vector_join.h"

namespace bert {
namespace {

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
