// BPE and Unigram against plain ones that go step by step, as the references are written. The
// first bytes choose the vocabulary, the rest is the word.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/unigram.h"

using namespace bert;

namespace {

constexpr std::array<std::string_view, 6> kLetters = {"a", "b", "c", "é", "中", "😀"};
constexpr std::string_view kUnknown = "<unk>";

using Pieces = std::vector<std::array<uint32_t, 3>>;  // id, begin, end

void require(bool condition) {
  if (!condition) std::abort();
}

/// Bytes that choose: zeros behind the end.
struct Choices {
  std::string_view left;
  uint8_t next() {
    if (left.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left[0]);
    left.remove_prefix(1);
    return byte;
  }
};

/// The letters of a word, each as the bytes [begin, end). A letter without a token is 'x'.
std::string word_of(std::string_view bytes, bool is_long) {
  std::string word;
  const size_t times = is_long ? 5 : 1;
  for (size_t i = 0; i < times; ++i) {
    for (const char c : bytes) {
      const size_t letter = static_cast<unsigned char>(c) % 7;
      word += letter < kLetters.size() ? kLetters[letter] : "x";
    }
  }
  return word;
}

size_t letter_end(std::string_view word, size_t begin) {
  size_t end = begin + 1;
  while (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) ++end;
  return end;
}

Pieces split(const SubwordModel& model, std::string_view word) {
  const auto scratch = model.make_scratch();
  std::vector<Subword> found;
  model.split(word, *scratch, found);
  Pieces pieces;
  for (const Subword& s : found) {
    pieces.push_back({static_cast<uint32_t>(s.id), s.begin, s.end});
  }
  return pieces;
}

/// Joins the first of the neighbours that come first in the list, until none are in it. Letters
/// that vanish have no place: those behind them move up, as in the reference.
Pieces plain_bpe(const Vocab& vocab, const BpeOptions& options,
                 const std::map<std::pair<std::string, std::string>, size_t>& ranks,
                 std::string_view word) {
  std::vector<std::string> texts;
  Pieces pieces;
  uint32_t place = 0;
  for (size_t begin = 0, end; begin < word.size(); begin = end) {
    end = letter_end(word, begin);
    std::string text(word.substr(begin, end - begin));
    const auto size = static_cast<uint32_t>(text.size());
    if (vocab.find(text) < 0) {
      if (!options.unk_token) continue;
      text = kUnknown;
    }
    place += size;
    if (options.fuse_unk && text == kUnknown && !texts.empty() && texts.back() == kUnknown) {
      pieces.back()[2] = place;
      continue;
    }
    texts.push_back(std::move(text));
    pieces.push_back({0, place - size, place});
  }
  for (;;) {
    size_t best = SIZE_MAX, at = 0;
    for (size_t i = 0; i + 1 < texts.size(); ++i) {
      const auto rank = ranks.find({texts[i], texts[i + 1]});
      if (rank == ranks.end() || rank->second >= best) continue;
      best = rank->second;
      at = i;
    }
    if (best == SIZE_MAX) break;
    texts[at] += texts[at + 1];
    pieces[at][2] = pieces[at + 1][2];
    texts.erase(texts.begin() + static_cast<ptrdiff_t>(at + 1));
    pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(at + 1));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    pieces[i][0] = static_cast<uint32_t>(vocab.find(texts[i]));
  }
  return pieces;
}

void try_bpe(Choices choices) {
  const uint8_t flags = choices.next();
  BpeOptions options;
  if (flags & 1) options.unk_token = kUnknown;
  options.fuse_unk = flags & 2;
  std::vector<std::string> tokens{std::string(kUnknown)};
  tokens.insert(tokens.end(), kLetters.begin(), kLetters.end());
  std::vector<std::pair<std::string, std::string>> list;
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t n = choices.next() % 24; n > 0; --n) {
    const auto pick = [&] { return tokens[1 + choices.next() % (tokens.size() - 1)]; };
    const std::string left = pick(), right = pick();
    if (left.size() + right.size() > 60) continue;
    if (!ranks.emplace(std::pair(left, right), list.size()).second) continue;
    list.emplace_back(left, right);
    if (std::find(tokens.begin(), tokens.end(), left + right) == tokens.end()) {
      tokens.push_back(left + right);
    }
  }
  Vocab vocab{"", 0};
  for (const std::string& token : tokens) vocab.add(token);
  vocab.close();
  std::vector<BpeMerge> merges;
  for (const auto& [left, right] : list) merges.push_back({left, right});
  const Bpe bpe(vocab, options, merges, "fuzz");
  const std::string word = word_of(choices.left.substr(0, 60), flags & 4);
  require(split(bpe, word) == plain_bpe(vocab, options, ranks, word));
}

/// Of all ways the one with the largest sum; of equal ones the first by begin, then by length.
Pieces plain_unigram(const Vocab& vocab, const std::vector<double>& scores, double unknown,
                     std::string_view word) {
  struct Way {
    std::optional<double> score;
    size_t from = 0;
    int32_t id = 0;
  };
  std::vector<Way> ways(word.size() + 1);
  ways[0].score = 0;
  for (size_t begin = 0; begin < word.size(); begin = letter_end(word, begin)) {
    bool single = false;
    const auto offer = [&](size_t end, double score, int32_t id) {
      const double sum = *ways[begin].score + score;
      if (!ways[end].score || sum > *ways[end].score) ways[end] = {sum, begin, id};
    };
    for (size_t end = begin; end < word.size() && end < begin + 70;) {
      end = letter_end(word, end);
      const int32_t id = vocab.find(word.substr(begin, end - begin));
      if (id < 0) continue;
      single |= end == letter_end(word, begin);
      offer(end, scores[static_cast<size_t>(id)], id);
    }
    if (!single) offer(letter_end(word, begin), unknown, 0);
  }
  Pieces pieces;
  for (size_t end = word.size(); end > 0; end = ways[end].from) {
    const auto begin = static_cast<uint32_t>(ways[end].from);
    const auto id = static_cast<uint32_t>(ways[end].id);
    if (id == 0 && !pieces.empty() && pieces.back()[0] == 0) {
      pieces.back()[1] = begin;  // unknown neighbours are one piece
    } else {
      pieces.push_back({id, begin, static_cast<uint32_t>(end)});
    }
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

void try_unigram(Choices choices) {
  const uint8_t flags = choices.next();
  Vocab vocab{"", 0};
  UnigramOptions options;
  std::set<std::string> used;
  double worst = 0;
  const auto add = [&](const std::string& piece, double score) {
    if (!used.insert(piece).second) return;
    vocab.add(piece);
    options.scores.push_back(score);
    worst = std::min(worst, score);
  };
  add(std::string(kUnknown), 0);
  for (size_t n = choices.next() % 32; n > 0; --n) {
    std::string piece;
    for (size_t letters = 1 + choices.next() % 4; letters > 0; --letters) {
      piece += kLetters[choices.next() % kLetters.size()];
    }
    add(piece, -0.5 * (choices.next() % 16));  // few scores, so that sums are equal
  }
  vocab.close();
  options.unk_id = 0;
  const std::vector<double> scores = options.scores;
  const std::string word = word_of(choices.left.substr(0, 60), flags & 4);
  for (const size_t trie_after : {size_t{0}, SIZE_MAX}) {
    options.trie_after = trie_after;
    const Unigram unigram(vocab, options, "fuzz");
    require(split(unigram, word) == plain_unigram(vocab, scores, worst - 10, word));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), std::min<size_t>(size, 400));
  try_bpe({input});
  try_unigram({input});
  return 0;
}
