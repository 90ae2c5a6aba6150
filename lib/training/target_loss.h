#pragma once

#include <cstdint>
#include <vector>

#include "nn/linear_gradient.h"
#include "training/network.h"

namespace bert::training {

/// How a decoder learns its targets.
struct TargetPlan {
  int32_t start = 0;          ///< the token before the first one of a target
  float label_smoothing = 0;  ///< see smoothed_cross_entropy; losses of passes that do not learn
                              ///< have none
  /// The probability that the decoder reads the target's own last token. Otherwise it reads the
  /// token that it would have written there itself: scheduled sampling (Bengio et al. 2015).
  double teacher_forcing = 1;
  int32_t unknown = -1;  ///< the unknown token: no target with it is right as a whole
};

/// What the decoder reads before each token of the targets: `start`, then all of a target but its
/// last token.
std::vector<int32_t> shifted(const PackedBatch& target, int32_t start);

/// Whether the decoder reads its own word instead of the target's before target token `token` of
/// this pass. Never at the first token of a target: that is for the caller.
bool reads_own_word(const TargetPlan& plan, const Pass& pass, size_t token);

/// The output layer of a decoder, and its losses: logits = W h + b over the vocabulary.
///
/// Thread rule: one per thread.
class TargetLoss {
 public:
  static constexpr size_t kRows = 512;  ///< rows of the logits [M, V] in memory at once

  /// The losses of hidden [T, H] by the targets' tokens. If the pass learns, also adds to
  /// `gradient` (not to a bias without data) and writes d_hidden [T, H]. `output` is [V, H].
  ///
  /// In the tally, tokens are those of targets; sequences_right counts targets of which each token
  /// is the most probable one, and none is the unknown one: exactly those that greedy decoding
  /// writes as they are.
  Tally learn(const nn::LinearWeights& output, ConstMatrix hidden, const PackedBatch& target,
              const TargetPlan& plan, const Pass& pass, const nn::LinearWeights& gradient,
              Matrix d_hidden);

  /// The most probable token of each row.
  void own_words(const nn::LinearWeights& output, ConstMatrix hidden, std::vector<int32_t>& words);

 private:
  Buffer logits_;
  std::vector<uint8_t> rights_;
};

/// The labels of a batch with targets, for Network::count().
Tally count_targets(const TrainingBatch& batch);

/// Throws Error(data) naming `path` (config.json) unless each source has a target, no sequence is
/// empty or has more than `max_source` or `max_target` tokens, and ids are below the sizes.
struct TargetLimits {
  size_t source_vocab = 0, target_vocab = 0;
  size_t max_source = SIZE_MAX, max_target = SIZE_MAX;
};
void check_targets(const TrainingBatch& batch, const TargetLimits& limits, const std::string& path);

}  // namespace bert::training
