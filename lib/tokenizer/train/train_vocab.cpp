#include "tokenizer/train/train_vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "io/record_reader.h"
#include "text/normalizer.h"
#include "tokenizer/text_counts.h"
#include "tokenizer/train/joiner.h"

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

std::map<std::u32string, int64_t> count_words(const TrainVocabOptions& options) {
  std::unordered_map<std::u32string, int64_t> counts;
  RecordReader reader(options.files, '\n', {}, Framing::lines, options.wanted);
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
  std::vector<PieceJoiner::Word> symbols;
  for (const auto& [word, count] : words) {
    PieceJoiner::Word w{{}, count};
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
  PieceJoiner joiner(std::move(symbols), tokens, {.continues = kContinues});
  while (tokens.size() < options.vocab_size &&
         joiner.join(static_cast<int64_t>(options.min_frequency))) {
    if (options.progress && tokens.size() % 256 == 0) options.progress(tokens.size());
  }
  return tokens;
}

}  // namespace bert
