#include "seq2seq/output_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/team.h"
#include "ops/dtype.h"
#include "ops/int8_error.h"
#include "ops/kernels.h"

namespace bert {
namespace {

constexpr size_t kColumns = 512;  ///< tokens of a block: the logits of 256 rows stay in the cache
/// So many rows are computed in floats before the screen is made, which costs as much as some rows.
constexpr size_t kScreenAfter = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool better(const Candidates::One& a, const Candidates::One& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// Puts one more into the list of the `count` best.
void offer(std::vector<Candidates::One>& best, size_t count, const Candidates::One& one) {
  if (best.size() == count) {
    if (!better(one, best.back())) return;
    best.pop_back();
  }
  best.insert(std::upper_bound(best.begin(), best.end(), one, better), one);
}

/// Offers what is in the list's reach of a row of logits [n], the first of which is token `first`.
/// `maxima` of kMaximaOf each.
void offer_row(std::span<const float> logits, std::span<const float> maxima, size_t first,
               size_t count, std::vector<Candidates::One>& best) {
  for (size_t m = 0; m < maxima.size(); ++m) {
    // The lists have lower ids: an equal logit is no better.
    if (best.size() == count && !(maxima[m] > best.back().logit)) continue;
    const size_t end = std::min((m + 1) * kMaximaOf, logits.size());
    for (size_t i = m * kMaximaOf; i < end; ++i) {
      const float worst = best.size() == count ? best.back().logit : -kInfinity;
      if (logits[i] > worst) offer(best, count, {logits[i], static_cast<int32_t>(first + i)});
    }
  }
}

}  // namespace

OutputLayer::OutputLayer(WeightRef weight, std::vector<float> bias, Precision precision)
    : size_(weight.out),
      width_(weight.in),
      bias_(std::move(bias)),
      asked_(std::make_unique<std::atomic<size_t>>(0)) {
  const size_t row_bytes = weight.in * dtype_size(weight.dtype);
  for (size_t first = 0; first < weight.out; first += kColumns) {
    const size_t count = std::min(kColumns, weight.out - first);
    std::vector<float> own;
    if (!bias_.empty()) own.assign(&bias_[first], &bias_[first] + count);
    blocks_.emplace_back(WeightRef{weight.data + first * row_bytes, weight.dtype, count, weight.in},
                         std::move(own), precision);
  }
  if (precision == Precision::f32 && has_fast_int8()) {
    screen_ = std::make_unique<const Screen>(weight, bias_);
  }
}

void OutputLayer::logits(ConstMatrix hidden, Matrix logits, LinearScratch& scratch) const {
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Matrix part(logits.data + b * kColumns, logits.rows, blocks_[b].out_features(),
                      logits.stride);
    blocks_[b](hidden, part, Activation::none, scratch);
  }
}

void OutputLayer::run_block(size_t block, ConstMatrix hidden, const CandidateRequest& request,
                            Candidates& found, OutputScratch& scratch,
                            OutputScratch::Part& part) const {
  const size_t columns = blocks_[block].out_features(), first = block * kColumns;
  const Matrix logits = part.logits.matrix(hidden.rows, columns);
  blocks_[block](hidden, logits, Activation::none, part.linear);
  part.maxima.resize((columns + kMaximaOf - 1) / kMaximaOf);
  for (size_t row = 0; row < hidden.rows; ++row) {
    const std::span<float> values(logits.row(row), columns);
    const size_t place = row * blocks_.size() + block;
    const auto sum = [&] {
      const float top = *std::max_element(part.maxima.begin(), part.maxima.end());
      scratch.largest[place] = top;
      scratch.sums[place] = exp_sum(values, top);
    };
    const auto in_block = [&](int32_t id) { return static_cast<size_t>(id) - first < columns; };
    if (!request.wanted.empty() && in_block(request.wanted[row])) {
      found.wanted[row] = values[static_cast<size_t>(request.wanted[row]) - first];
    }
    maxima(values, part.maxima);
    const std::vector<int32_t> none;
    const auto& banned = request.banned.empty() ? none : request.banned[row];
    const bool some = std::any_of(banned.begin(), banned.end(), in_block);
    if (request.sums && !(some && request.banned_out)) sum();
    if (some) {
      for (const int32_t id : banned) {
        if (in_block(id)) values[static_cast<size_t>(id) - first] = -kInfinity;
      }
      maxima(values, part.maxima);
      if (request.sums && request.banned_out) sum();
    }
    if (request.count > 0) offer_row(values, part.maxima, first, request.count, part.best[row]);
  }
}

void OutputLayer::best(ConstMatrix hidden, const CandidateRequest& request, Candidates& found,
                       OutputScratch& scratch) const {
  if (request.count == 1 && !request.sums && request.wanted.empty() &&
      best_by_screen(hidden, request, found, scratch)) {
    return;
  }
  const size_t rows = hidden.rows;
  const size_t parts = scratch.team ? static_cast<size_t>(scratch.team->size()) : 1;
  if (scratch.parts.size() < parts) scratch.parts.resize(parts);
  found.wanted.assign(request.wanted.size(), 0);
  if (request.sums) {
    scratch.largest.resize(rows * blocks_.size());
    scratch.sums.resize(rows * blocks_.size());
  }
  const auto run = [&](size_t p) {
    OutputScratch::Part& part = scratch.parts[p];
    part.best.resize(rows);
    for (auto& list : part.best) list.clear();
    const size_t end = blocks_.size() * (p + 1) / parts;
    for (size_t b = blocks_.size() * p / parts; b < end; ++b) {
      run_block(b, hidden, request, found, scratch, part);
    }
  };
  if (parts == 1) {
    run(0);
  } else {
    scratch.team->run([&](int part, int) { run(static_cast<size_t>(part)); });
  }
  found.rows.resize(rows);
  found.sums.resize(request.sums ? rows : 0);
  join(parts, request, found, scratch);
}

bool OutputLayer::best_by_screen(ConstMatrix hidden, const CandidateRequest& request,
                                 Candidates& found, OutputScratch& scratch) const {
  if (!screen_ || asked_->fetch_add(hidden.rows) < kScreenAfter) return false;
  const size_t parts = scratch.team ? static_cast<size_t>(scratch.team->size()) : 1;
  if (scratch.screens.size() < parts) scratch.screens.resize(parts);
  const auto run = [&](size_t p) {
    screen_->begin(hidden, scratch.screens[p]);
    const size_t end = screen_->blocks() * (p + 1) / parts;
    for (size_t b = screen_->blocks() * p / parts; b < end; ++b) {
      screen_->look(b, hidden, request.banned, scratch.screens[p]);
    }
  };
  if (parts == 1) {
    run(0);
  } else {
    scratch.team->run([&](int part, int) { run(static_cast<size_t>(part)); });
  }
  found.rows.resize(hidden.rows);
  for (size_t row = 0; row < hidden.rows; ++row) {
    const auto best = screen_->decide(row, hidden, std::span(scratch.screens).first(parts));
    if (!best) return false;
    found.rows[row].assign(1, {best->logit, best->id});
  }
  return true;
}

/// Puts together what parts and blocks have found.
void OutputLayer::join(size_t parts, const CandidateRequest& request, Candidates& found,
                       OutputScratch& scratch) const {
  for (size_t row = 0; row < found.rows.size(); ++row) {
    std::swap(found.rows[row], scratch.parts[0].best[row]);
    for (size_t p = 1; p < parts; ++p) {
      for (const auto& one : scratch.parts[p].best[row]) {
        offer(found.rows[row], request.count, one);
      }
    }
    if (!request.sums) continue;
    const double* largest = &scratch.largest[row * blocks_.size()];
    const double* sums = &scratch.sums[row * blocks_.size()];
    const double top = *std::max_element(largest, largest + blocks_.size());
    double sum = 0;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (sums[b] != 0) sum += sums[b] * std::exp(largest[b] - top);
    }
    found.sums[row] = std::isinf(top) ? top : top + std::log(sum);
  }
}

}  // namespace bert
