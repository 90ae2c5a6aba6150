#include "training/target_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "nn/loss.h"

namespace bert::training {
namespace {

constexpr uint64_t kOwnWord = 0x0D0;

}  // namespace

std::vector<int32_t> shifted(const PackedBatch& target, int32_t start) {
  std::vector<int32_t> inputs(target.tokens());
  for (size_t s = 0; s < target.sequences(); ++s) {
    const size_t begin = target.begin(s), length = target.length(s);
    if (length == 0) continue;
    inputs[begin] = start;
    std::copy_n(target.input_ids.begin() + static_cast<std::ptrdiff_t>(begin), length - 1,
                inputs.begin() + static_cast<std::ptrdiff_t>(begin + 1));
  }
  return inputs;
}

bool reads_own_word(const TargetPlan& plan, const Pass& pass, size_t token) {
  if (plan.teacher_forcing >= 1) return false;
  const uint64_t drawn = mix(mix(pass.key, kOwnWord), pass.target_0 + token);
  return static_cast<double>(drawn >> 11) * 0x1p-53 >= plan.teacher_forcing;
}

Tally TargetLoss::learn(const nn::LinearWeights& output, ConstMatrix hidden,
                        const PackedBatch& target, const TargetPlan& plan, const Pass& pass,
                        const nn::LinearWeights& gradient, Matrix d_hidden) {
  Tally tally;
  const float smoothing = pass.learns ? plan.label_smoothing : 0;
  rights_.resize(hidden.rows);
  for (size_t begin = 0; begin < hidden.rows; begin += kRows) {
    const size_t rows = std::min(kRows, hidden.rows - begin);
    const Matrix logits = logits_.matrix(rows, output.weight.rows);  // [M, V]
    nn::linear_forward(output, hidden.slice(begin, rows), logits);
    tally.token_loss += nn::smoothed_cross_entropy(
        logits, std::span(target.input_ids).subspan(begin, rows), smoothing, pass.scale.token,
        std::span(rights_).subspan(begin, rows));
    if (!pass.learns) continue;
    nn::linear_backward(output, hidden.slice(begin, rows), logits, gradient,
                        d_hidden.slice(begin, rows));
  }
  for (size_t s = 0; s < target.sequences(); ++s) {
    const auto first = rights_.begin() + static_cast<std::ptrdiff_t>(target.begin(s));
    const auto last = first + static_cast<std::ptrdiff_t>(target.length(s));
    const auto right = static_cast<size_t>(std::count(first, last, uint8_t{1}));
    tally.tokens_right += right;
    const auto ids = std::span(target.input_ids).subspan(target.begin(s), target.length(s));
    const bool known = std::find(ids.begin(), ids.end(), plan.unknown) == ids.end();
    tally.sequences_right += known && right == target.length(s);
  }
  tally.tokens = tally.labelled = static_cast<double>(target.tokens());
  return tally;
}

void TargetLoss::own_words(const nn::LinearWeights& output, ConstMatrix hidden,
                           std::vector<int32_t>& words) {
  words.resize(hidden.rows);
  for (size_t begin = 0; begin < hidden.rows; begin += kRows) {
    const size_t rows = std::min(kRows, hidden.rows - begin);
    const Matrix logits = logits_.matrix(rows, output.weight.rows);  // [M, V]
    nn::linear_forward(output, hidden.slice(begin, rows), logits);
    for (size_t r = 0; r < rows; ++r) {
      const float* row = logits.row(r);
      words[begin + r] = static_cast<int32_t>(std::max_element(row, row + logits.cols) - row);
    }
  }
}

Tally count_targets(const TrainingBatch& batch) {
  Tally tally;
  tally.tokens = tally.labelled = static_cast<double>(batch.target.tokens());
  return tally;
}

namespace {

void check_side(const PackedBatch& batch, size_t vocab, size_t longest, const char* side,
                const std::string& path) {
  const auto refuse = [&](const std::string& what) { throw Error(Error::Kind::data, path, what); };
  for (const int32_t id : batch.input_ids) {
    if (id >= 0 && static_cast<size_t>(id) < vocab) continue;
    refuse(fmt::format("token id {} of a {} is outside the vocabulary of {}", id, side, vocab));
  }
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t length = batch.length(s);
    if (length > 0 && length <= longest) continue;
    refuse(fmt::format("a {} has {} tokens, wants 1 to {}", side, length, longest));
  }
}

}  // namespace

void check_targets(const TrainingBatch& batch, const TargetLimits& limits,
                   const std::string& path) {
  if (batch.target.sequences() != batch.sequences()) {
    throw Error(Error::Kind::data, path,
                fmt::format("found {} sources and {} targets", batch.sequences(),
                            batch.target.sequences()));
  }
  check_side(batch.batch, limits.source_vocab, limits.max_source, "source", path);
  check_side(batch.target, limits.target_vocab, limits.max_target, "target", path);
}

}  // namespace bert::training
