#include "attention_pool/attention_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/panels.h"

namespace bert {
namespace {

/// Keys that are computed together: their panels stay in the second-level cache while a block of
/// queries goes by. Sums over keys are cut here, so that keys behind the last that is seen, whose
/// weights are 0, change no bit.
constexpr size_t kChunk = 384;
static_assert(kChunk % kVectorsOfPanel == 0);

size_t parts_of(size_t count, size_t size) { return (count + size - 1) / size; }

/// Calls use(part, begin, end) for shares of [0, count), in the threads of the team.
template <typename Use>
void share(Team* team, size_t count, Use use) {
  if (!team || count < 2) return use(size_t{0}, size_t{0}, count);
  team->run([&](int part, int parts) {
    const auto p = static_cast<size_t>(part), all = static_cast<size_t>(parts);
    use(p, count * p / all, count * (p + 1) / all);
  });
}

/// The matrix without gaps between its rows, for Linear; empty of an empty one.
std::vector<float> dense(ConstMatrix m) {
  std::vector<float> values;
  if (!m.data) return values;
  for (size_t i = 0; i < m.rows; ++i) values.insert(values.end(), m.row(i), m.row(i) + m.cols);
  return values;
}

Linear linear_of(const std::vector<float>& weight, size_t in, std::vector<float> bias) {
  const auto* data = reinterpret_cast<const std::byte*>(weight.data());
  return Linear({data, DType::f32, weight.size() / in, in}, std::move(bias));
}

/// rows = x, with the rows of their positions added, then projected. Without both it is x itself.
ConstMatrix prepare(ConstMatrix x, const nn::Sinusoids* positions, size_t first,
                    const Linear* linear, Buffer& sum, Buffer& projected, LinearScratch& scratch) {
  if (positions) {
    const Matrix own = sum.matrix(x.rows, x.cols);
    copy(x, own);
    positions->add(first, own);
    x = own;
  }
  if (!linear) return x;
  const Matrix out = projected.matrix(x.rows, linear->out_features());
  (*linear)(x, out, Activation::none, scratch);
  return out;
}

}  // namespace

AttentionPool::AttentionPool(const PoolForm& form, PoolParameters parameters, ConstMatrix keys,
                             ConstMatrix values, const PoolNames& names, int threads)
    : form_(form),
      parameters_(std::move(parameters)),
      names_(names),
      rows_(keys.rows),
      sizes_(PoolSizes::of(form, parameters_, keys.cols, values.cols, names)) {
  if (values.rows != keys.rows) {
    throw Error(Error::Kind::data, names.values,
                fmt::format("found {} row{}, wants {}, as {} has", values.rows,
                            values.rows == 1 ? "" : "s", keys.rows, names.keys));
  }
  const PoolWeights weights(parameters_, sizes_.queries);
  v_.assign(sizes_.hidden, 1.f);
  if (weights.v) v_.assign(weights.v, weights.v + sizes_.hidden);
  if (weights.width) width_ = *weights.width;
  query_weight_ = dense(weights.query.weight);
  output_weight_ = dense(weights.output);
  if (weights.query.bias) bias_.assign(weights.query.bias, weights.query.bias + sizes_.hidden);
  if (!query_weight_.empty()) query_ = linear_of(query_weight_, sizes_.queries, bias_);
  if (!output_weight_.empty()) output_ = linear_of(output_weight_, sizes_.mixed, {});

  constexpr size_t kSmall = size_t{1} << 18;  // numbers; below it threads cost more than they save
  Team team(keys.rows * (keys.cols + values.cols) < kSmall ? 1 : threads);
  if (form.positions) query_positions_.emplace_back(sizes_.queries, nn::SinusoidOrder::interleaved);
  prepare_rows(keys, values, weights, team);
  if (!nn::has_hidden_layer(form.score) && form.score != nn::Score::gauss) pack_keys(team);
  pack_values(team);
}

/// Positions and projections of keys and values.
void AttentionPool::prepare_rows(ConstMatrix keys, ConstMatrix values, const PoolWeights& weights,
                                 Team& team) {
  LinearScratch scratch;
  scratch.team = &team;
  const bool shared = keys.data == values.data;
  const nn::Sinusoids positions(keys.cols, nn::SinusoidOrder::interleaved);
  const nn::Sinusoids* added = form_.positions ? &positions : nullptr;
  const auto project = [&](ConstMatrix x, const Matrix& weight, Buffer& own) {
    const std::vector<float> values_of = dense(weight);
    if (values_of.empty()) return x;
    const Linear linear = linear_of(values_of, weight.cols, {});
    return prepare(x, nullptr, 0, &linear, own, own, scratch);
  };
  const ConstMatrix placed = prepare(keys, added, 0, nullptr, placed_keys_, placed_keys_, scratch);
  keys_ = project(placed, weights.key.weight, own_keys_);
  values_ = project(shared ? placed : values, weights.value, own_values_);
}

/// Panels of 16 keys for each head.
void AttentionPool::pack_keys(Team& team) {
  const size_t size = sizes_.hidden / form_.heads, panels = parts_of(rows_, kVectorsOfPanel);
  float* const to = key_panels_.reserve(panels * kVectorsOfPanel * sizes_.hidden);
  share(&team, panels, [&](size_t, size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      const size_t first = p * kVectorsOfPanel, count = std::min(kVectorsOfPanel, rows_ - first);
      for (size_t head = 0; head < form_.heads; ++head) {
        pack_panel(columns(keys_.slice(first, count), head * size, size),
                   to + (head * panels + p) * size * kVectorsOfPanel);
      }
    }
  });
}

size_t AttentionPool::value_panels() const {
  return parts_of(sizes_.mixed / form_.heads, kVectorsOfPanel);
}

/// For each head and chunk of keys, panels of 16 columns of the values; what lacks is zero.
void AttentionPool::pack_values(Team& team) {
  const size_t size = sizes_.mixed / form_.heads, chunks = parts_of(rows_, kChunk);
  const size_t panels = value_panels(), floats = kChunk * kVectorsOfPanel;
  float* const to = value_panels_.reserve(form_.heads * chunks * panels * floats);
  share(&team, form_.heads * chunks, [&](size_t, size_t begin, size_t end) {
    std::fill(to + begin * panels * floats, to + end * panels * floats, 0.f);
    for (size_t i = begin; i < end; ++i) {
      const size_t head = i / chunks, first = i % chunks * kChunk;
      for (size_t k = 0; k < std::min(kChunk, rows_ - first); ++k) {
        const float* row = values_.row(first + k) + head * size;
        for (size_t c = 0; c < size; ++c) {
          const size_t panel = i * panels + c / kVectorsOfPanel;
          to[panel * floats + k * kVectorsOfPanel + c % kVectorsOfPanel] = row[c];
        }
      }
    }
  });
}

std::string AttentionPool::queries_fit() const { return bert::queries_fit(parameters_, names_); }

ConstMatrix AttentionPool::project_queries(ConstMatrix queries, size_t first,
                                           Scratch& scratch) const {
  scratch.linear.team = scratch.team;
  const nn::Sinusoids* positions = query_positions_.empty() ? nullptr : &query_positions_[0];
  const ConstMatrix x = prepare(queries, positions, first, query_ ? &query_ : nullptr,
                                scratch.input, scratch.queries, scratch.linear);
  if (query_ || bias_.empty()) return x;
  const Matrix out = scratch.queries.matrix(x.rows, x.cols);  // perceptron without W1
  for (size_t i = 0; i < x.rows; ++i) {
    for (size_t c = 0; c < x.cols; ++c) out.row(i)[c] = x.row(i)[c] + bias_[c];
  }
  return out;
}

/// scores [n, kChunk] of one chunk of keys
void AttentionPool::score_chunk(size_t head, size_t chunk, ConstMatrix queries, Matrix scores,
                                nn::ScoreBuffers& buffers) const {
  const size_t size = sizes_.hidden / form_.heads, first = chunk * kChunk;
  const size_t count = std::min(kChunk, rows_ - first);
  const ConstMatrix q = columns(queries, head * size, size);
  const ConstMatrix k = columns(keys_.slice(first, count), head * size, size);
  scores.cols = count;
  if (nn::has_hidden_layer(form_.score)) {
    nn::hidden_scores_forward(v_.data() + head * size, q, k, scores, buffers.scratch);
  } else if (form_.score == nn::Score::gauss) {
    nn::ScoreWeights weights;
    float width = width_;
    weights.width = &width;
    nn::score_forward(nn::Score::gauss, weights, q, k, scores, buffers);
  } else {
    const size_t panels = parts_of(rows_, kVectorsOfPanel);
    const float* panel = key_panels_.data() + (head * panels * kVectorsOfPanel + first) * size;
    scores.cols = kChunk;  // panels are whole
    multiply_panels(q, panel, parts_of(count, kVectorsOfPanel), scores);
  }
}

/// scores [n, m'], of the first `seen` keys at least
void AttentionPool::score(size_t head, ConstMatrix queries, size_t seen, Matrix scores,
                          Scratch& scratch) const {
  const size_t threads = scratch.team ? static_cast<size_t>(scratch.team->size()) : 1;
  if (scratch.score.size() < threads) scratch.score.resize(threads);
  share(scratch.team, parts_of(seen, kChunk), [&](size_t part, size_t begin, size_t end) {
    for (size_t chunk = begin; chunk < end; ++chunk) {
      const Matrix some(scores.data + chunk * kChunk, scores.rows, kChunk, scores.stride);
      score_chunk(head, chunk, queries, some, scratch.score[part]);
    }
  });
}

/// The number of keys that a query sees.
size_t AttentionPool::seen(size_t query) const {
  return form_.causal ? std::min(query + 1, rows_) : rows_;
}

/// Scores become weights; those of keys that are not seen 0. Scores that are all too far below 0
/// for a float say nothing of the keys: then the weights are NaN.
void AttentionPool::normalise(size_t first, Matrix scores) const {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < scores.rows; ++i) {
    float* const row = scores.row(i);
    const size_t keys = seen(first + i);
    const bool hides = form_.leave_one_out && first + i < keys;
    if (hides) row[first + i] = kHidden;
    const bool lost = keys > (hides ? 1u : 0u) && *std::max_element(row, row + keys) == kHidden;
    softmax({row, keys});
    if (lost) std::fill(row, row + keys, std::numeric_limits<float>::quiet_NaN());
    std::fill(row + keys, row + scores.stride, 0.f);
  }
}

/// mixed [n, B]: writes the columns of the head.
void AttentionPool::sum(size_t head, ConstMatrix weights, size_t seen, Matrix mixed,
                        Scratch& scratch) const {
  const size_t size = sizes_.mixed / form_.heads, panels = value_panels();
  const size_t floats = kChunk * kVectorsOfPanel, chunks = parts_of(rows_, kChunk);
  const Matrix sums = scratch.sums.matrix(weights.rows, panels * kVectorsOfPanel);
  share(scratch.team, panels, [&](size_t, size_t begin, size_t end) {
    if (begin == end) return;
    const Matrix to(sums.data + begin * kVectorsOfPanel, sums.rows, (end - begin) * kVectorsOfPanel,
                    sums.stride);
    for (size_t chunk = 0; chunk < parts_of(seen, kChunk); ++chunk) {
      const ConstMatrix some = columns(weights, chunk * kChunk, kChunk);
      const size_t panel = (head * chunks + chunk) * panels + begin;
      multiply_panels(some, value_panels_.data() + panel * floats, end - begin, to, chunk > 0);
    }
  });
  for (size_t i = 0; i < mixed.rows; ++i) {
    std::copy_n(sums.row(i), size, mixed.row(i) + head * size);
  }
}

void AttentionPool::finish(ConstMatrix mixed, Matrix out, Scratch& scratch) const {
  if (output_) return output_(mixed, out, Activation::none, scratch.linear);
  copy(mixed, out);
}

/// The products of weights and values of one query, [m, B / heads].
void AttentionPool::show_weighted(size_t head, ConstMatrix weights, Scratch& scratch,
                                  const Show& show) const {
  const size_t size = sizes_.mixed / form_.heads;
  const Matrix products = scratch.weighted.matrix(rows_, size);
  for (size_t j = 0; j < rows_; ++j) {
    for (size_t c = 0; c < size; ++c) {
      products.row(j)[c] = weights.row(0)[j] * values_.row(j)[head * size + c];
    }
  }
  show(PoolStage::weighted, head, products);
}

void AttentionPool::run(ConstMatrix queries, size_t first, Matrix out, Scratch& scratch,
                        const Show& show) const {
  const size_t n = queries.rows;
  if (n == 0) return;
  const ConstMatrix q = project_queries(queries, first, scratch);
  const size_t most = seen(first + n - 1);
  const Matrix scores = scratch.scores.matrix(n, parts_of(rows_, kChunk) * kChunk);
  const Matrix mixed = scratch.mixed.matrix(n, sizes_.mixed);
  const ConstMatrix shown(scores.data, n, rows_, scores.stride);
  const size_t size = sizes_.mixed / form_.heads;
  for (size_t head = 0; head < form_.heads; ++head) {
    score(head, q, most, scores, scratch);
    if (show) show(PoolStage::score, head, {scores.data, n, most, scores.stride});
    if (form_.score == nn::Score::scaled_dot) {
      const float scale = 1.f / std::sqrt(static_cast<float>(sizes_.hidden / form_.heads));
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < most; ++j) scores.row(i)[j] *= scale;
      }
      if (show) show(PoolStage::divided, head, {scores.data, n, most, scores.stride});
    }
    normalise(first, scores);
    if (show) show(PoolStage::softmax, head, shown);
    if (!out.data) continue;
    if (show && n == 1) show_weighted(head, shown, scratch, show);
    sum(head, scores, most, mixed, scratch);
    if (show) show(PoolStage::sum, head, columns(mixed, head * size, size));
  }
  if (!out.data) return;
  finish(mixed, out, scratch);
  if (show) show(PoolStage::output, form_.heads, out);
}

void AttentionPool::mix(std::span<const float> weights, std::span<float> out,
                        Scratch& scratch) const {
  const Matrix row = scratch.scores.matrix(1, parts_of(rows_, kChunk) * kChunk);
  std::fill_n(row.data, row.cols, 0.f);
  std::copy(weights.begin(), weights.end(), row.data);
  const Matrix mixed = scratch.mixed.matrix(1, sizes_.mixed);
  for (size_t head = 0; head < form_.heads; ++head) sum(head, row, rows_, mixed, scratch);
  finish(mixed, {out.data(), 1, out.size()}, scratch);
}

}  // namespace bert
