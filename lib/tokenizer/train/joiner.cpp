#include "tokenizer/train/joiner.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace bert {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}
size_t left_of(uint64_t pair) { return pair >> 32; }
size_t right_of(uint64_t pair) { return static_cast<uint32_t>(pair); }

}  // namespace

PieceJoiner::PieceJoiner(std::vector<Word> words, std::vector<std::string>& tokens, Options options)
    : words_(std::move(words)), tokens_(tokens), options_(options) {
  for (uint32_t w = 0; w < words_.size(); ++w) add_pairs(w);
  for (const auto& [pair, count] : counts_) push(pair, count);
  changed_.clear();
}

bool PieceJoiner::join(int64_t min_frequency) {
  while (!queue_.empty()) {
    const auto [count, pair] = queue_.top();
    queue_.pop();
    const auto now = counts_.find(pair);
    if (now == counts_.end() || now->second != count) continue;  // out of date
    if (count < min_frequency) return false;
    apply(pair);
    return true;
  }
  return false;
}

void PieceJoiner::push(Pair pair, int64_t count) {
  if (options_.longest < SIZE_MAX) {
    const size_t left = count_code_points(tokens_[left_of(pair)]);
    if (left + count_code_points(tokens_[right_of(pair)]) > options_.longest) return;
  }
  queue_.push({count, pair});
}

void PieceJoiner::change(Pair pair, int64_t by) {
  counts_[pair] += by;
  changed_.push_back(pair);
}

void PieceJoiner::add_pairs(uint32_t w) {
  const std::vector<int32_t>& s = words_[w].symbols;
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    const Pair pair = pair_of(s[i], s[i + 1]);
    change(pair, words_[w].count);
    std::vector<uint32_t>& where = where_[pair];
    if (where.empty() || where.back() != w) where.push_back(w);
  }
}

void PieceJoiner::apply(Pair pair) {
  const auto left = static_cast<int32_t>(left_of(pair)),
             right = static_cast<int32_t>(right_of(pair));
  const auto joined = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(tokens_[left_of(pair)] +
                    tokens_[right_of(pair)].substr(options_.continues.size()));
  std::vector<uint32_t> where = std::move(where_[pair]);
  std::sort(where.begin(), where.end());
  where.erase(std::unique(where.begin(), where.end()), where.end());
  changed_.clear();
  for (const uint32_t w : where) {
    std::vector<int32_t>& s = words_[w].symbols;
    for (size_t i = 0; i + 1 < s.size(); ++i) change(pair_of(s[i], s[i + 1]), -words_[w].count);
    size_t to = 0;
    for (size_t i = 0; i < s.size(); ++i, ++to) {
      const bool here = i + 1 < s.size() && s[i] == left && s[i + 1] == right;
      s[to] = here ? joined : s[i];
      i += here;
    }
    s.resize(to);
    add_pairs(w);
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const Pair p : changed_) {
    const auto found = counts_.find(p);
    if (found->second > 0) {
      push(p, found->second);
    } else {
      counts_.erase(found);
      where_.erase(p);
    }
  }
}

}  // namespace bert
