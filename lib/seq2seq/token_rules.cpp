#include "seq2seq/token_rules.h"

#include <algorithm>
#include <unordered_set>

namespace bert {
namespace {

bool has(std::span<const int32_t> list, int32_t token) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

}  // namespace

TokenRules::TokenRules(const GenerationConfig& config) : config_(config) {}

bool TokenRules::is_end(int32_t token) const { return has(config_.eos, token); }

/// Whether a token is suppressed behind `length` tokens.
bool TokenRules::suppresses(size_t length, int32_t token) const {
  const size_t begin = config_.forced_bos_token_id ? 2 : 1;
  return has(config_.suppress_tokens, token) ||
         (length == begin && has(config_.begin_suppress_tokens, token));
}

std::optional<std::vector<int32_t>> TokenRules::forced(std::span<const int32_t> tokens) const {
  std::vector<int32_t> only;
  if (tokens.size() + 1 == config_.max_length && !config_.forced_eos_token_id.empty()) {
    only = config_.forced_eos_token_id;
  } else if (tokens.size() == 1 && config_.forced_bos_token_id) {
    only = {*config_.forced_bos_token_id};
  } else {
    return std::nullopt;
  }
  std::sort(only.begin(), only.end());
  only.erase(std::unique(only.begin(), only.end()), only.end());
  std::erase_if(only, [&](int32_t token) { return suppresses(tokens.size(), token); });
  return only;
}

void TokenRules::ban(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const {
  ban_words(tokens, banned);
  ban_ngrams(tokens, banned);
  if (tokens.size() < config_.min_length || tokens.size() < 1 + config_.min_new_tokens) {
    banned.insert(banned.end(), config_.eos.begin(), config_.eos.end());
  }
  banned.insert(banned.end(), config_.suppress_tokens.begin(), config_.suppress_tokens.end());
  for (const int32_t token : config_.begin_suppress_tokens) {
    if (suppresses(tokens.size(), token)) banned.push_back(token);
  }
}

void TokenRules::ban_words(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const {
  for (const std::vector<int32_t>& word : config_.bad_words_ids) {
    const size_t before = word.size() - 1;
    const bool stands =
        before <= tokens.size() && std::equal(word.begin(), word.end() - 1, tokens.end() - before);
    if (stands) banned.push_back(word.back());
  }
}

/// What would end an n-gram that is there already.
void TokenRules::ban_ngrams(std::span<const int32_t> tokens, std::vector<int32_t>& banned) const {
  const size_t n = config_.no_repeat_ngram_size;
  if (n == 0 || tokens.size() + 1 < n) return;
  const auto last = tokens.subspan(tokens.size() + 1 - n);  // n - 1 tokens
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    if (std::equal(last.begin(), last.end(), tokens.begin() + i))
      banned.push_back(tokens[i + n - 1]);
  }
}

void TokenRules::penalize(std::span<const int32_t> tokens, std::span<float> values) const {
  const auto penalty = static_cast<float>(config_.repetition_penalty);
  const std::unordered_set<int32_t> seen(tokens.begin(), tokens.end());
  for (const int32_t token : seen) {
    float& value = values[static_cast<size_t>(token)];
    value = value < 0 ? value * penalty : value / penalty;
  }
}

}  // namespace bert
