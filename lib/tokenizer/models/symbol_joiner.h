#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/files/sentencepiece_file.h"

namespace bert {

/// The symbols of a text, of which the best two neighbours are joined again and again: BPE as
/// sentencepiece has it.
class SymbolJoiner {
 public:
  /// `find` gives the id of a piece, or -1. Borrows the file.
  SymbolJoiner(std::function<int32_t(std::string_view)> find, const SentencePieceFile& file)
      : find_(std::move(find)), file_(file) {}

  /// Adds a symbol, which stands behind the last one in the same text. A frozen one is not joined.
  void add(std::string_view text, bool frozen);
  void join();
  template <typename Use>
  void for_each(Use use) const {
    for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[static_cast<size_t>(i)].next) {
      use(symbols_[static_cast<size_t>(i)].text);
    }
  }
  /// The two that an unused piece was joined of; false: it is none.
  bool parts(std::string_view piece, std::string_view& left, std::string_view& right) const;

 private:
  struct Symbol {
    int32_t previous;
    int32_t next;
    bool frozen;
    std::string_view text;
  };
  /// Two neighbours that may become one piece; of equal scores the first in the text.
  struct Pair {
    float score;
    int32_t left;
    int32_t right;
    size_t size;
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  Symbol& at(int32_t i) { return symbols_[static_cast<size_t>(i)]; }
  void add_pair(int32_t l, int32_t r);

  std::function<int32_t(std::string_view)> find_;
  const SentencePieceFile& file_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> queue_;
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> unused_;
};

}  // namespace bert
