#include "tokenizer/train/train_vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "io/record_reader.h"
#include "text/normalizer.h"
#include "tokenizer/text_counts.h"

namespace bert {
namespace {

constexpr size_t kLongestWord = 100;  // in characters, as the tokenizer has it
constexpr std::string_view kContinues = "##";

/// Calls word(characters) for each word of a line, as BertPreTokenizer cuts it.
class WordCutter {
 public:
  explicit WordCutter(bool cased) : normalizer_({true, true, !cased, !cased}) {}

  /// False: the line has bytes that are not UTF-8.
  template <typename Use>
  bool cut(std::string_view line, Use use) {
    word_.clear();
    normalizer_.start(line, 0);
    for (NormalizedChar c; normalizer_.next(c);) {
      const unsigned kind = char_class(c.code_point);
      const bool blank = c.code_point == U' ' || (kind & kCharWhite);
      const bool single = kind & (kCharPunctuation | kCharCjk);
      if ((blank || single) && !word_.empty()) {
        use(word_);
        word_.clear();
      }
      if (blank) continue;
      word_.push_back(c.code_point);
      if (!single) continue;
      use(word_);
      word_.clear();
    }
    if (!word_.empty()) use(word_);
    return normalizer_.replaced() == 0;
  }

 private:
  Normalizer normalizer_;
  std::u32string word_;
};

using Pair = uint64_t;  // left symbol << 32 | right symbol
Pair pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

/// The joining of neighbours. Ties go to the pair whose symbols came first.
class Joiner {
 public:
  struct Word {
    std::vector<int32_t> symbols;
    int64_t count;
  };

  Joiner(std::vector<Word> words, std::vector<std::string>& tokens)
      : words_(std::move(words)), tokens_(tokens) {
    for (uint32_t w = 0; w < words_.size(); ++w) add_pairs(w);
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
    changed_.clear();
  }

  /// Joins the most frequent pair into a new token; false if none is frequent enough.
  bool join(int64_t min_frequency) {
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

 private:
  struct Entry {
    int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void change(Pair pair, int64_t by) {
    counts_[pair] += by;
    changed_.push_back(pair);
  }
  void add_pairs(uint32_t w) {
    const std::vector<int32_t>& s = words_[w].symbols;
    for (size_t i = 0; i + 1 < s.size(); ++i) {
      const Pair pair = pair_of(s[i], s[i + 1]);
      change(pair, words_[w].count);
      std::vector<uint32_t>& where = where_[pair];
      if (where.empty() || where.back() != w) where.push_back(w);
    }
  }

  void apply(Pair pair) {
    const auto left = static_cast<int32_t>(pair >> 32), right = static_cast<int32_t>(pair);
    const auto joined = static_cast<int32_t>(tokens_.size());
    tokens_.push_back(tokens_[static_cast<size_t>(left)] +
                      tokens_[static_cast<size_t>(right)].substr(kContinues.size()));
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
        queue_.push({found->second, p});
      } else {
        counts_.erase(found);
        where_.erase(p);
      }
    }
  }

  std::vector<Word> words_;
  std::vector<std::string>& tokens_;
  std::unordered_map<Pair, int64_t> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>> where_;  // words that (may) hold it
  std::priority_queue<Entry> queue_;
  std::vector<Pair> changed_;
};

std::map<std::u32string, int64_t> count_words(const TrainVocabOptions& options) {
  std::unordered_map<std::u32string, int64_t> counts;
  RecordReader reader(options.files, '\n');
  WordCutter cutter(options.cased);
  TextCounts found;
  Chunk chunk;
  while (reader.next(chunk, 4096, 1 << 20, [] { return Busy::none; })) {
    for (const std::string_view line : chunk.lines) {
      const bool valid = cutter.cut(line, [&](const std::u32string& word) {
        if (word.size() <= kLongestWord) ++counts[word];
      });
      if (!valid) found.add_invalid();
      found.end_text();
    }
  }
  if (options.on_notice) {
    for (const std::string& fault : found.lines("lines")) options.on_notice(fault);
  }
  return {counts.begin(), counts.end()};  // in an order that no hash decides
}

/// The most frequent characters.
std::map<char32_t, int64_t> alphabet_of(const std::map<std::u32string, int64_t>& words,
                                        size_t limit) {
  std::map<char32_t, int64_t> counts;
  for (const auto& [word, count] : words) {
    for (const char32_t c : word) counts[c] += count;
  }
  if (counts.size() <= limit) return counts;
  std::vector<std::pair<int64_t, char32_t>> order;
  for (const auto& [c, count] : counts) order.emplace_back(-count, c);
  std::sort(order.begin(), order.end());
  for (size_t i = limit; i < order.size(); ++i) counts.erase(order[i].second);
  return counts;
}

}  // namespace

std::vector<std::string> train_vocab(const TrainVocabOptions& options) {
  const std::map<std::u32string, int64_t> words = count_words(options);
  const std::map<char32_t, int64_t> alphabet = alphabet_of(words, options.limit_alphabet);
  if (alphabet.empty()) {
    throw Error(Error::Kind::data, options.files.empty() ? "-" : options.files.front(),
                "has no words to learn from");
  }
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::map<char32_t, int32_t> first, continuing;
  for (const auto& [c, count] : alphabet) {
    char bytes[4];
    const std::string text(bytes, encode_utf8(c, bytes));
    first[c] = static_cast<int32_t>(tokens.size());
    tokens.push_back(text);
  }
  std::vector<Joiner::Word> symbols;
  for (const auto& [word, count] : words) {
    Joiner::Word w{{}, count};
    for (const char32_t c : word) {
      if (!first.contains(c)) break;
      if (!w.symbols.empty() && !continuing.contains(c)) {
        continuing[c] = static_cast<int32_t>(tokens.size());
        tokens.push_back(std::string(kContinues) + tokens[static_cast<size_t>(first[c])]);
      }
      w.symbols.push_back(w.symbols.empty() ? first[c] : continuing[c]);
    }
    if (w.symbols.size() == word.size()) symbols.push_back(std::move(w));
  }
  if (tokens.size() > options.vocab_size) {
    throw Error::of_field("vocab_size",
                          fmt::format("found {}, wants at least {}, for the characters alone",
                                      options.vocab_size, tokens.size()));
  }
  Joiner joiner(std::move(symbols), tokens);
  while (tokens.size() < options.vocab_size &&
         joiner.join(static_cast<int64_t>(options.min_frequency))) {
    if (options.progress && tokens.size() % 256 == 0) options.progress(tokens.size());
  }
  return tokens;
}

}  // namespace bert
