#include "seq2seq/screen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dtype.h"
#include "ops/int8_error.h"
#include "ops/kernels.h"
#include "ops/panels.h"

namespace bert {
namespace {

constexpr size_t kColumns = 512;         ///< tokens of a block
constexpr size_t kMostCandidates = 256;  ///< else all floats cost less
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// For what floats round in both products, as a part of |w| |h|: more than 2 D 2^-24 for any D that
/// models have.
constexpr double kRounding = 1e-3;

double length_of(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * double{value};
  return std::sqrt(sum);
}

}  // namespace

Screen::Screen(WeightRef weight, std::span<const float> bias) : weight_(weight), bias_(bias) {
  for (size_t first = 0; first < weight.out; first += kColumns) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->first = first;
    blocks_.back()->count = std::min(kColumns, weight.out - first);
  }
}

Screen::Block& Screen::make(size_t index) const {
  Block& block = *blocks_[index];
  std::call_once(block.made, [&] {
    const size_t width = weight_.in, row_bytes = width * dtype_size(weight_.dtype);
    const WeightRef part{weight_.data + block.first * row_bytes, weight_.dtype, block.count, width};
    const size_t size = blocked_bytes(Precision::int8, part.out, part.in);
    block.bytes.resize(size + 64);
    auto* data = block.bytes.data();
    data += (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
    block_weights({&part, 1}, Precision::int8, {}, data);
    const BlockedRef blocked{data, Precision::int8, part.out, part.in};
    std::vector<float> bias;
    if (!bias_.empty()) {
      const auto own = bias_.subspan(block.first, block.count);
      bias.assign(own.begin(), own.end());
    }
    std::vector<float> exact(width), rounded(width);
    for (size_t i = 0; i < block.count; ++i) {
      to_float(part.dtype, part.data + i * row_bytes, exact);
      unblock_row(blocked, i, rounded);
      block.length.push_back(static_cast<float>(length_of(rounded)));
      for (size_t k = 0; k < width; ++k) rounded[k] -= exact[k];
      block.moved.push_back(static_cast<float>(length_of(rounded)));
    }
    block.most_moved = *std::max_element(block.moved.begin(), block.moved.end());
    block.most_length = *std::max_element(block.length.begin(), block.length.end());
    block.linear = std::make_unique<Linear>(blocked, std::move(bias));
  });
  return block;
}

void Screen::begin(ConstMatrix hidden, Part& part) const {
  part.rows.resize(hidden.rows);
  for (size_t r = 0; r < hidden.rows; ++r) {
    Row& row = part.rows[r];
    const std::span<const float> values(hidden.row(r), hidden.cols);
    row.length = length_of(values);
    row.moved = int8_input_error(values, part.errors);
    row.least = -std::numeric_limits<double>::infinity();
    row.candidates.clear();
  }
}

void Screen::look(size_t index, ConstMatrix hidden, std::span<const std::vector<int32_t>> banned,
                  Part& part) const {
  const Block& block = make(index);
  const Matrix logits = part.logits.matrix(hidden.rows, block.count);
  (*block.linear)(hidden, logits, Activation::none, part.linear);
  part.maxima.resize((block.count + kMaximaOf - 1) / kMaximaOf);
  for (size_t r = 0; r < hidden.rows; ++r) {
    Row& row = part.rows[r];
    const std::span<float> values(logits.row(r), block.count);
    if (!banned.empty()) {
      for (const int32_t id : banned[r]) {
        const size_t i = static_cast<size_t>(id) - block.first;
        if (i < block.count) values[i] = -kInfinity;
      }
    }
    maxima(values, part.maxima);
    const auto error = [&](float moved, float length) {
      return (double{moved} + kRounding * double{length}) * row.length + double{length} * row.moved;
    };
    const double widest = error(block.most_moved, block.most_length);
    for (size_t m = 0; m < part.maxima.size(); ++m) {
      if (double{part.maxima[m]} + widest < row.least) continue;
      const size_t end = std::min((m + 1) * kMaximaOf, block.count);
      for (size_t i = m * kMaximaOf; i < end; ++i) {
        if (double{values[i]} + widest < row.least || values[i] == -kInfinity) continue;
        const double own = error(block.moved[i], block.length[i]);
        if (double{values[i]} + own < row.least) continue;
        row.least = std::max(row.least, double{values[i]} - own);
        row.candidates.push_back({static_cast<int32_t>(block.first + i), double{values[i]} + own});
      }
    }
  }
}

std::optional<Screen::Best> Screen::decide(size_t r, ConstMatrix hidden,
                                           std::span<Part> parts) const {
  double least = -std::numeric_limits<double>::infinity();
  for (const Part& part : parts) least = std::max(least, part.rows[r].least);
  if (!std::isfinite(least) || !std::isfinite(parts[0].rows[r].length)) return std::nullopt;
  std::vector<int32_t> ids;
  for (const Part& part : parts) {
    for (const Row::Candidate& one : part.rows[r].candidates) {
      if (one.most >= least) ids.push_back(one.id);
    }
  }
  if (ids.empty() || ids.size() > kMostCandidates) return std::nullopt;
  std::sort(ids.begin(), ids.end());
  const size_t width = weight_.in, row_bytes = width * dtype_size(weight_.dtype);
  float* panel = parts[0].panel.reserve(width * kVectorsOfPanel);
  const Matrix values = parts[0].values.matrix(1, kVectorsOfPanel);
  std::optional<Best> best;
  for (size_t first = 0; first < ids.size(); first += kVectorsOfPanel) {
    const size_t count = std::min(kVectorsOfPanel, ids.size() - first);
    const std::byte* vectors[kVectorsOfPanel];
    for (size_t i = 0; i < count; ++i) {
      vectors[i] = weight_.data + static_cast<size_t>(ids[first + i]) * row_bytes;
    }
    pack_panel({vectors, count}, weight_.dtype, width, panel);
    multiply_panels(hidden.slice(r, 1), panel, 1, values);
    for (size_t i = 0; i < count; ++i) {
      const int32_t id = ids[first + i];
      float logit = values.row(0)[i];
      if (!bias_.empty()) logit += bias_[static_cast<size_t>(id)];
      if (logit > (best ? best->logit : -kInfinity)) best = Best{id, logit};
    }
  }
  return best;
}

}  // namespace bert
