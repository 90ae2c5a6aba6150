#include "search/vector_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/team.h"
#include "ops/int8_error.h"
#include "search/rounded_vectors.h"
#include "search/score_filter.h"

namespace bert {
namespace {

/// Products of a tile that stay in the cache, and the most vectors in it.
constexpr size_t kTileProducts = size_t{1} << 17;
constexpr size_t kMostVectors = 256;

/// The k best of one query, a heap with the worst on top.
struct Best {
  std::vector<Neighbour> heap;

  void offer(const Neighbour& found, size_t k) {
    if (heap.size() == k) {
      if (!better(found, heap.front())) return;
      std::pop_heap(heap.begin(), heap.end(), better);
      heap.pop_back();
    }
    heap.push_back(found);
    std::push_heap(heap.begin(), heap.end(), better);
  }
};

}  // namespace

double dot_in_doubles(std::span<const float> a, std::span<const float> b) {
  double sums[8] = {};
  const size_t n = a.size();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(a[i + j]) * b[i + j];
  }
  for (size_t j = 0; i < n; ++i, ++j) sums[j] += static_cast<double>(a[i]) * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

double cosine_of(double ab, double aa, double bb) {
  // One root, so that the cosine of a vector with itself is 1.
  const double lengths = std::sqrt(aa * bb);
  return lengths == 0 ? 0 : std::clamp(ab / lengths, -1., 1.);
}

double similarity(Similarity kind, std::span<const float> a, std::span<const float> b) {
  const double ab = dot_in_doubles(a, b);
  return kind == Similarity::dot ? ab : cosine_of(ab, dot_in_doubles(a, a), dot_in_doubles(b, b));
}

struct VectorSearch::State {
  /// What quick products say of the vectors of a tile: each is off by at most the vector's error.
  struct Look {
    ConstMatrix products;                    ///< [T, Q]
    std::span<const float> lengths, errors;  ///< [T]
  };
  /// What one thread has found in its part of the vectors.
  struct Part {
    ScoreFilter::Scratch scratch;
    Buffer rows, products;
    RoundedVectors::Facts facts;
    std::vector<float> errors;  ///< [T]
    std::exception_ptr error;
    std::vector<Best> best;   ///< [Q]
    std::vector<float> bars;  ///< [Q] what a score must reach, in units of the query's length
  };

  State(ConstMatrix q, const Options& o)
      : options(o), width(q.cols), filter(q), team(std::max(1, o.threads)), parts(team.size()) {
    queries.reserve(q.rows * q.cols);
    for (size_t i = 0; i < q.rows; ++i) {
      queries.insert(queries.end(), q.row(i), q.row(i) + width);
      squares.push_back(dot_in_doubles(query(i), query(i)));
    }
    for (Part& part : parts) {
      part.best.resize(q.rows);
      part.bars.resize(q.rows);
      for (size_t i = 0; i < q.rows; ++i) set_bar(part, i);
    }
  }

  std::span<const float> query(size_t i) const { return {queries.data() + i * width, width}; }

  void set_bar(Part& part, size_t i) const {
    const Best& best = part.best[i];
    double bar = options.threshold;
    if (best.heap.size() == options.k) bar = std::max(bar, best.heap.front().score);
    // A query of length 0 has the score 0 with all.
    if (options.similarity == Similarity::dot && squares[i] > 0) bar /= std::sqrt(squares[i]);
    // Rounded down, so that no score equal to the bar is lost.
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr double kMost = std::numeric_limits<float>::max();
    part.bars[i] = std::nextafter(static_cast<float>(std::min(bar, kMost)), -kInfinity);
  }

  /// The products with vectors that lie in memory.
  Look look(ConstMatrix tile, Part& part) const {
    const ConstMatrix products = filter(tile, part.scratch);
    const std::span<const float> lengths = part.scratch.lengths;
    part.errors.resize(tile.rows);
    for (size_t t = 0; t < tile.rows; ++t) {
      part.errors[t] = static_cast<float>(filter.error() * lengths[t]);
    }
    return {products, lengths, part.errors};
  }

  /// `vector` gives a vector of the tile.
  template <typename Vector>
  void search(const Look& look, uint64_t first_index, Part& part, Vector&& vector) const {
    const bool cosine = options.similarity == Similarity::cosine;
    const size_t count = look.products.cols;
    for (size_t t = 0; t < look.products.rows; ++t) {
      const float scale = cosine ? look.lengths[t] : 1.f;
      const float error = look.errors[t];
      const float* row = look.products.row(t);
      // Negated, so that a product or length that is no number passes.
      int any = 0;
      for (size_t i = 0; i < count; ++i) any |= !(row[i] + error < scale * part.bars[i]);
      if (!any) continue;
      const std::span<const float> exact = vector(t);
      const double square = cosine ? dot_in_doubles(exact, exact) : 0;
      for (size_t i = 0; i < count; ++i) {
        if (row[i] + error < scale * part.bars[i]) continue;
        const double ab = dot_in_doubles(query(i), exact);
        offer(part, i, {first_index + t, cosine ? cosine_of(ab, squares[i], square) : ab});
      }
    }
  }

  /// Calls run(first, count, part) for tiles of `rows` vectors of `found` numbers, in several
  /// threads.
  template <typename Run>
  void in_tiles(size_t rows, size_t found, Run&& run);

  void offer(Part& part, size_t i, const Neighbour& found) const {
    if (!(found.score >= options.threshold)) return;
    part.best[i].offer(found, options.k);
    set_bar(part, i);
  }

  Options options;
  size_t width;                 ///< D
  std::vector<float> queries;   ///< [Q, D]
  std::vector<double> squares;  ///< [Q] of the queries' lengths
  ScoreFilter filter;
  Team team;
  std::vector<Part> parts;  ///< [threads]
};

VectorSearch::VectorSearch(ConstMatrix queries, const Options& options)
    : state_(std::make_unique<State>(queries, options)) {}
VectorSearch::VectorSearch(VectorSearch&&) noexcept = default;
VectorSearch::~VectorSearch() = default;

template <typename Run>
void VectorSearch::State::in_tiles(size_t rows, size_t found, Run&& run) {
  if (squares.empty() || rows == 0 || options.k == 0) return;
  if (found != width) {
    throw Error(
        Error::Kind::data, "vectors",
        fmt::format("found {} numbers a vector, wants {}, as the queries have", found, width));
  }
  // A multiple of 16, as RoundedVectors wants.
  const size_t fitting = kTileProducts / squares.size() / 16 * 16;
  const size_t step = std::clamp<size_t>(fitting, 16, kMostVectors);
  const size_t tiles = (rows + step - 1) / step;
  const auto run_part = [&](int index, int count) {
    Part& part = parts[index];
    const size_t begin = tiles * index / count * step;
    const size_t end = std::min(tiles * (index + 1) / count * step, rows);
    try {
      for (size_t first = begin; first < end; first += step) {
        run(first, std::min(step, end - first), part);
      }
    } catch (...) {
      part.error = std::current_exception();
    }
  };
  tiles > 1 ? team.run(run_part) : run_part(0, 1);
  for (Part& part : parts) {
    if (part.error) std::rethrow_exception(std::exchange(part.error, nullptr));
  }
}

void VectorSearch::add(const VectorSource& vectors, uint64_t first_index) {
  State& state = *state_;
  state.in_tiles(vectors.rows, vectors.width, [&](size_t first, size_t count, State::Part& part) {
    const ConstMatrix tile = vectors.read(first, count, part.rows);
    state.search(state.look(tile, part), first_index + first, part,
                 [&](size_t t) { return std::span(tile.row(t), tile.cols); });
  });
}

void VectorSearch::add(const RoundedVectors& rounded, const VectorSource& vectors,
                       uint64_t first_index) {
  State& state = *state_;
  // More queries are computed faster as bf16, or as floats.
  constexpr size_t kFew = 4;
  if (state.squares.size() > kFew && !has_fast_int8()) return add(vectors, first_index);
  const Int8Rows queries(state.filter.units());
  state.in_tiles(rounded.rows(), rounded.width(),
                 [&](size_t first, size_t count, State::Part& part) {
                   const ConstMatrix products =
                       rounded.products(queries, first, count, part.products, part.facts);
                   const State::Look look{products, part.facts.lengths, part.facts.errors};
                   state.search(look, first_index + first, part, [&](size_t t) {
                     const ConstMatrix row = vectors.read(first + t, 1, part.rows);
                     return std::span(row.data, row.cols);
                   });
                 });
}

std::vector<Neighbour> VectorSearch::nearest(size_t query) const {
  std::vector<Neighbour> all;
  for (const State::Part& part : state_->parts) {
    const std::vector<Neighbour>& heap = part.best[query].heap;
    all.insert(all.end(), heap.begin(), heap.end());
  }
  std::sort(all.begin(), all.end(), better);
  if (all.size() > state_->options.k) all.resize(state_->options.k);
  return all;
}

}  // namespace bert
