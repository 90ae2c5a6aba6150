#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"
#include "search/vector_source.h"

namespace bert {

class RoundedVectors;

/// How alike two vectors are.
///   cosine   a b / (|a| |b|), 0 if one of them is 0, at most 1     dot   a b
enum class Similarity { cosine, dot };

/// The similarity in doubles, summed in one order: the same bits on every CPU. a, b [D], finite.
BERT_API double similarity(Similarity kind, std::span<const float> a, std::span<const float> b);

/// Its parts, for one who compares a vector with many: a b, summed so, and the cosine from it.
double dot_in_doubles(std::span<const float> a, std::span<const float> b);
double cosine_of(double ab, double aa, double bb);

/// A vector that was found.
struct Neighbour {
  uint64_t index = 0;
  double score = 0;
};

/// Better first; the same score: the smaller index first.
inline bool better(const Neighbour& a, const Neighbour& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

/// The k vectors that are most similar to each of some queries, exactly: as if all scores were
/// computed in doubles and sorted. Products of floats (ops/linear.h) only tell which vectors cannot
/// be among the k best: they are off by at most a bound that is proven, and all others are computed
/// in doubles. So the result depends neither on threads nor on blocks nor on the CPU.
///
///   Q queries, N vectors, D numbers each, all finite
///
/// Thread rule: one owner; add() uses `threads` threads of its own.
class BERT_API VectorSearch {
 public:
  struct Options {
    Similarity similarity = Similarity::cosine;
    size_t k = 10;
    double threshold = -std::numeric_limits<double>::infinity();  ///< only scores from here on
    int threads = 1;
  };
  /// Copies the queries [Q, D].
  VectorSearch(ConstMatrix queries, const Options& options);
  VectorSearch(VectorSearch&&) noexcept;
  ~VectorSearch();

  /// Offers vectors, the first of which has this index. They may come in any blocks. Throws
  /// Error(data) if they have another width, and what reading them throws.
  void add(const VectorSource& vectors, uint64_t first_index);
  void add(ConstMatrix vectors, uint64_t first_index) { add(source_of(vectors), first_index); }
  /// The same for vectors that were rounded before: of `vectors` it reads only those of which the
  /// rounded ones leave open whether they are among the best.
  void add(const RoundedVectors& rounded, const VectorSource& vectors, uint64_t first_index);
  /// The best of a query so far, best first.
  std::vector<Neighbour> nearest(size_t query) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert
