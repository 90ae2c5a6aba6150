#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/generation_config.h"

namespace bert {

/// What generation_config.json says of the next token besides its logit: transformers' logits
/// processors.
class TokenRules {
 public:
  /// Borrows `config`.
  explicit TokenRules(const GenerationConfig& config);

  /// The only tokens that may stand behind `tokens`, which begin with the start token; nullopt:
  /// any.
  std::optional<std::vector<int32_t>> forced(std::span<const int32_t> tokens) const;
  /// Appends the tokens that may not stand behind them.
  void ban(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const;
  /// Whether repetition changes the values of tokens.
  bool penalizes() const { return config_.repetition_penalty != 1; }
  /// Changes the values [V] of all tokens that are in `tokens`: logits, or log-probabilities.
  void penalize(std::span<const int32_t> tokens, std::span<float> values) const;
  bool is_end(int32_t token) const;

 private:
  void ban_words(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const;
  void ban_ngrams(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const;
  bool suppresses(size_t length, int32_t token) const;

  const GenerationConfig& config_;
};

}  // namespace bert
