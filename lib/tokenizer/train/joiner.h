#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bert {

/// Learns pieces (Sennrich et al. 2016): the two neighbours that stand together most often become
/// one, again and again. Of equally frequent pairs the one whose symbols came first.
class PieceJoiner {
 public:
  /// A word as symbols, which are numbers of `tokens`, and how often it stands in the texts.
  struct Word {
    std::vector<int32_t> symbols;
    int64_t count;
  };
  struct Options {
    std::string_view continues = {};  ///< stands before tokens that go on with a word
    size_t longest = SIZE_MAX;        ///< no joined token has more characters
  };

  /// Borrows `tokens`, and appends to them.
  PieceJoiner(std::vector<Word> words, std::vector<std::string>& tokens, Options options);

  /// Joins the most frequent pair into a new token; false if none stands `min_frequency` times.
  bool join(int64_t min_frequency);

 private:
  using Pair = uint64_t;  ///< left symbol << 32 | right symbol
  struct Entry {
    int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void change(Pair pair, int64_t by);
  void add_pairs(uint32_t w);
  void apply(Pair pair);
  void push(Pair pair, int64_t count);

  std::vector<Word> words_;
  std::vector<std::string>& tokens_;
  Options options_;
  std::unordered_map<Pair, int64_t> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>> where_;  ///< words that (may) hold it
  std::priority_queue<Entry> queue_;
  std::vector<Pair> changed_;
};

}  // namespace bert
