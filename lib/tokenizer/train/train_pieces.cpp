#include "tokenizer/train/train_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/parts/text_normalizer.h"
#include "tokenizer/train/joiner.h"

namespace bert {
namespace {

using Type = SentencePieceFile::Type;
using Ranked = std::vector<std::pair<std::string, int64_t>>;

constexpr size_t kControlPieces = 3;
constexpr size_t kLongestPiece = 16;   // in characters, as in sentencepiece
constexpr size_t kLongestWord = 1000;  // bytes; a longer one is no word
constexpr int64_t kFewestJoined = 2;   // a pair that stands once is no unit of a language

/// A file without units: what all of ours say.
SentencePieceFile empty_file(Units units) {
  SentencePieceFile file;
  file.model = units == Units::character ? SentencePieceFile::Model::character
               : units == Units::word    ? SentencePieceFile::Model::word
                                         : SentencePieceFile::Model::bpe;
  file.add_dummy_prefix = units != Units::character;
  file.pieces = {
      {"<unk>", 0, Type::unknown}, {"<s>", 0, Type::control}, {"</s>", 0, Type::control}};
  return file;
}

/// Spellings that mean something else where the pieces are used.
bool is_taken(std::string_view piece) {
  return piece == "<unk>" || piece == "<s>" || piece == "</s>" || piece == "<pad>" ||
         piece.find('\0') != std::string_view::npos;
}

/// The most frequent first; of equal ones by their bytes.
Ranked ranked(const std::unordered_map<std::string, int64_t>& counts, int64_t min_frequency) {
  Ranked order;
  for (const auto& entry : counts) {
    if (entry.second >= min_frequency && !is_taken(entry.first)) order.push_back(entry);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return order;
}

template <typename Use>
void for_each_char(std::string_view text, Use use) {
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    length = decode_utf8(text, i).length;
    use(std::string(text.substr(i, length)));
  }
}

}  // namespace

void PieceTrainer::add(std::string_view text) {
  static const SentencePiece normalizer(empty_file(Units::word), "");
  NormalText raw, normal;
  append_text(text, 0, raw);
  normalizer.normalize(raw, normal);
  std::string_view rest = normal.text;
  if (options_.units == Units::character && !rest.empty()) {
    rest.remove_prefix(SentencePiece::kBlank.size());  // none is put before such a text
  }
  for (size_t end = 0; !rest.empty(); rest.remove_prefix(end)) {
    end = std::min(rest.find(SentencePiece::kBlank, 1), rest.size());
    ++words_[std::string(rest.substr(0, end))];
  }
}

SentencePieceFile PieceTrainer::train() const {
  if (options_.vocab_size <= kControlPieces) {
    throw Error::of_field(
        "vocab_size", fmt::format("found {}, wants more than {}, for {} alone", options_.vocab_size,
                                  kControlPieces, "<unk>, <s> and </s>"));
  }
  if (words_.empty()) throw Error(Error::Kind::data, "", "there is no text to learn units from");
  if (options_.units == Units::piece) return with_pieces();
  if (options_.units == Units::word) return with_units(words_);
  Counts characters;
  for (const auto& [word, count] : words_) {
    for_each_char(word, [&, n = count](const std::string& c) { characters[c] += n; });
  }
  return with_units(characters);
}

/// Scores are logarithms of frequencies, as sentencepiece gives them.
SentencePieceFile PieceTrainer::with_units(const Counts& units) const {
  SentencePieceFile file = empty_file(options_.units);
  int64_t total = 0;
  for (const auto& [unit, count] : units) total += count;
  for (const auto& [unit, count] : ranked(units, static_cast<int64_t>(options_.min_frequency))) {
    if (file.pieces.size() == options_.vocab_size) break;
    if (unit.size() > kLongestWord) continue;
    const double share = static_cast<double>(count) / static_cast<double>(total);
    file.pieces.push_back({unit, static_cast<float>(std::log(share)), Type::normal});
  }
  return file;
}

/// Pieces in the order in which they were joined, with falling scores, and then the characters.
SentencePieceFile PieceTrainer::with_pieces() const {
  Counts counts;
  for (const auto& [word, count] : words_) {
    for_each_char(word, [&, n = count](const std::string& c) { counts[c] += n; });
  }
  Ranked alphabet = ranked(counts, static_cast<int64_t>(options_.min_frequency));
  alphabet.resize(std::min(alphabet.size(), options_.vocab_size - kControlPieces));
  std::vector<std::string> tokens;
  std::unordered_map<std::string, int32_t> known;
  for (const auto& [character, count] : alphabet) {
    known.emplace(character, static_cast<int32_t>(tokens.size()));
    tokens.push_back(character);
  }
  std::vector<PieceJoiner::Word> words;
  for (const auto& [word, count] : std::map(words_.begin(), words_.end())) {
    PieceJoiner::Word symbols{{}, count};
    const auto end_word = [&] {
      if (symbols.symbols.size() > 1) words.push_back(symbols);
      symbols.symbols.clear();
    };
    for_each_char(word, [&](const std::string& c) {
      const auto found = known.find(c);
      if (found == known.end()) return end_word();  // nothing is joined over an unknown one
      symbols.symbols.push_back(found->second);
    });
    end_word();
  }
  PieceJoiner joiner(std::move(words), tokens, {.longest = kLongestPiece});
  const size_t room = options_.vocab_size - kControlPieces;
  while (tokens.size() < room && joiner.join(kFewestJoined)) {
  }
  SentencePieceFile file = empty_file(options_.units);
  auto add = [&, score = 0.0F](size_t i) mutable {
    if (is_taken(tokens[i])) return;
    file.pieces.push_back({tokens[i], score, Type::normal});
    score -= 1;
  };
  for (size_t i = alphabet.size(); i < tokens.size(); ++i) add(i);
  for (size_t i = 0; i < alphabet.size(); ++i) add(i);
  return file;
}

}  // namespace bert
