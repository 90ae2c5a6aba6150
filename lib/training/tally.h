#pragma once

#include <cstddef>

namespace bert::training {

/// Sums over the passes of a step, added in a fixed order.
struct Tally {
  double token_loss = 0;     ///< losses of masked LM, token classes and target tokens
  double sequence_loss = 0;  ///< losses of texts, next sentence, answers and vectors
  double tokens = 0;         ///< labelled tokens, or the sum of their class weights
  double sequences = 0;
  double labelled = 0;  ///< labelled tokens and sequences, without class weights
  size_t tokens_right = 0;
  size_t sequences_right = 0;
  size_t input_tokens = 0;

  Tally& operator+=(const Tally& other);
  /// The sum of the mean losses, which training minimises.
  double loss() const;
};

/// Factors that turn the sums of a pass into shares of the means over the whole step.
struct LossScale {
  float token = 0;
  float sequence = 0;
};

}  // namespace bert::training
