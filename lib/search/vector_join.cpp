#include "search/vector_join.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>

#include "base/team.h"
#include "ops/kernels.h"
#include "search/score_filter.h"
#include "search/vector_search.h"

namespace bert {
namespace {

constexpr size_t kBlock = 1024;                 ///< first vectors whose pairs are held
constexpr size_t kTile = 128;                   ///< vectors that they are compared with at once
constexpr size_t kMostPairs = size_t{1} << 22;  ///< that are held, unless one vector has more

class Join {
 public:
  Join(const VectorSource& vectors, double threshold, int threads,
       const std::function<bool(const VectorPair&)>& emit)
      : vectors_(vectors),
        threshold_(threshold),
        emit_(emit),
        team_(std::max(1, threads)),
        parts_(team_.size()) {}

  void run() {
    // A bad row shows before any pair is out, and the first one whatever the threads.
    for (size_t i = 0; i < vectors_.rows; i += kTile) {
      vectors_.read(i, std::min(kTile, vectors_.rows - i), parts_[0].rows);
    }
    bool more = true;
    for (size_t begin = 0; more && begin < vectors_.rows; begin += kBlock) {
      more = join(begin, std::min(begin + kBlock, vectors_.rows));
    }
  }

 private:
  struct Part {
    ScoreFilter::Scratch scratch;
    Buffer rows;
    std::vector<float> maxima;
    std::vector<VectorPair> pairs;
    std::exception_ptr error;
  };

  /// All pairs whose first vector is in [begin, end). False if `emit` wants no more.
  bool join(size_t begin, size_t end) {
    if (!compare(begin, end)) {
      const size_t half = begin + (end - begin) / 2;
      return join(begin, half) && join(half, end);
    }
    std::vector<VectorPair>& pairs = parts_[0].pairs;
    for (size_t i = 1; i < parts_.size(); ++i) {
      pairs.insert(pairs.end(), parts_[i].pairs.begin(), parts_[i].pairs.end());
    }
    std::sort(pairs.begin(), pairs.end(), [](const VectorPair& a, const VectorPair& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    return std::all_of(pairs.begin(), pairs.end(), emit_);
  }

  /// Leaves the pairs in the parts; false if there are too many to hold.
  bool compare(size_t begin, size_t end) {
    Buffer own;
    const ConstMatrix block = vectors_.read(begin, end - begin, own);  // [Q, D]
    const ScoreFilter filter(block);
    squares_.resize(block.rows);
    for (size_t q = 0; q < block.rows; ++q) squares_[q] = square(block, q);
    std::atomic<size_t> next{begin};
    std::atomic<size_t> found{0};
    const auto full = [&] { return found.load() > kMostPairs && end - begin > 1; };
    for (Part& part : parts_) part.pairs.clear();
    team_.run([&](int index, int) {
      Part& part = parts_[index];
      try {
        for (size_t first; !full() && (first = next.fetch_add(kTile)) < vectors_.rows;) {
          const size_t before = part.pairs.size();
          const size_t count = std::min(kTile, vectors_.rows - first);
          compare(block, begin, filter, vectors_.read(first, count, part.rows), first, part);
          found += part.pairs.size() - before;
        }
      } catch (...) {
        part.error = std::current_exception();
      }
    });
    for (const Part& part : parts_) {
      if (part.error) std::rethrow_exception(part.error);
    }
    return !full();
  }

  /// A tile of vectors against the block.
  void compare(ConstMatrix block, size_t block_first, const ScoreFilter& filter, ConstMatrix tile,
               size_t tile_first, Part& part) const {
    const ConstMatrix products = filter(tile, part.scratch);  // [T, Q]
    part.maxima.resize((products.cols + kMaximaOf - 1) / kMaximaOf);
    for (size_t t = 0; t < tile.rows; ++t) {
      const size_t second = tile_first + t;
      if (second <= block_first) continue;
      const size_t firsts = std::min(products.cols, second - block_first);
      const std::span<const float> row(products.row(t), firsts);
      const float length = part.scratch.lengths[t];
      const auto bar = static_cast<float>((threshold_ - filter.error()) * length);
      const bool known = std::isfinite(bar);  // a length that is not known lets all pass
      if (known) maxima(row, part.maxima);
      double own = -1;  // square of the length, when it is wanted
      for (size_t q = 0; q < firsts; ++q) {
        if (known && q % kMaximaOf == 0 && part.maxima[q / kMaximaOf] < bar) {
          q += kMaximaOf - 1;
        } else if (!known || !(row[q] < bar)) {
          if (own < 0) own = square(tile, t);
          const double ab = dot_in_doubles({block.row(q), block.cols}, {tile.row(t), tile.cols});
          const double score = cosine_of(ab, squares_[q], own);
          if (score >= threshold_) part.pairs.push_back({block_first + q, second, score});
        }
      }
    }
  }

  static double square(ConstMatrix rows, size_t i) {
    return dot_in_doubles({rows.row(i), rows.cols}, {rows.row(i), rows.cols});
  }

  const VectorSource& vectors_;
  const double threshold_;
  const std::function<bool(const VectorPair&)>& emit_;
  Team team_;
  std::vector<Part> parts_;      ///< [threads]
  std::vector<double> squares_;  ///< [Q] of the block's lengths
};

}  // namespace

void self_join(const VectorSource& vectors, double threshold, int threads,
               const std::function<bool(const VectorPair&)>& emit) {
  Join(vectors, threshold, threads, emit).run();
}

}  // namespace bert
