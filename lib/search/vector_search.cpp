#include "search/vector_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/team.h"
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
  /// What one thread has found in its part of the vectors.
  struct Part {
    ScoreFilter::Scratch scratch;
    Buffer rows;
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

  void search(ConstMatrix tile, uint64_t first_index, Part& part) const {
    const ConstMatrix products = filter(tile, part.scratch);  // [T, Q]
    const size_t count = products.cols;
    const bool cosine = options.similarity == Similarity::cosine;
    for (size_t t = 0; t < tile.rows; ++t) {
      const float length = part.scratch.lengths[t];
      const float scale = cosine ? length : 1.f;
      const float error = static_cast<float>(filter.error() * length);
      const float* row = products.row(t);
      // Negated, so that a product or length that is no number passes.
      int any = 0;
      for (size_t i = 0; i < count; ++i) any |= !(row[i] + error < scale * part.bars[i]);
      if (!any) continue;
      const std::span<const float> vector(tile.row(t), width);
      const double square = cosine ? dot_in_doubles(vector, vector) : 0;
      for (size_t i = 0; i < count; ++i) {
        if (row[i] + error < scale * part.bars[i]) continue;
        const double ab = dot_in_doubles(query(i), vector);
        offer(part, i, {first_index + t, cosine ? cosine_of(ab, squares[i], square) : ab});
      }
    }
  }

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

void VectorSearch::add(const VectorSource& vectors, uint64_t first_index) {
  State& state = *state_;
  const size_t queries = state.squares.size();
  if (queries == 0 || vectors.rows == 0 || state.options.k == 0) return;
  if (vectors.width != state.width) {
    throw Error(Error::Kind::data, "vectors",
                fmt::format("found {} numbers a vector, wants {}, as the queries have",
                            vectors.width, state.width));
  }
  const size_t step = std::clamp<size_t>(kTileProducts / queries, 16, kMostVectors);
  const size_t tiles = (vectors.rows + step - 1) / step;
  const auto run = [&](int index, int parts) {
    State::Part& part = state.parts[index];
    const size_t begin = tiles * index / parts * step;
    const size_t end = std::min(tiles * (index + 1) / parts * step, vectors.rows);
    try {
      for (size_t first = begin; first < end; first += step) {
        const ConstMatrix tile = vectors.read(first, std::min(step, end - first), part.rows);
        state.search(tile, first_index + first, part);
      }
    } catch (...) {
      part.error = std::current_exception();
    }
  };
  tiles > 1 ? state.team.run(run) : run(0, 1);
  for (State::Part& part : state.parts) {
    if (part.error) std::rethrow_exception(std::exchange(part.error, nullptr));
  }
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
