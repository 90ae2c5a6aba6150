#include "tokenizer/models/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace bert {
namespace {

/// An unknown character costs this much more than the worst piece, as in sentencepiece.
constexpr double kUnknownPenalty = 10;

/// Places after which the finished part of a word is handed out at the next place that no piece
/// spans: one for nearly all words, and memory for a few kB of the others.
constexpr size_t kFlushAfter = 512;

constexpr int32_t kNoUnknown = -1;

[[noreturn]] void bad(std::string_view where, const std::string& what) {
  throw Error(Error::Kind::data, where, what);
}

}  // namespace

/// places [n + 1]: the last is the end of the word, or of what was read of it.
struct Unigram::Buffers : SubwordModel::Scratch {
  const PieceTrie* trie = nullptr;  ///< nullptr: pieces are looked up in the vocabulary
  std::vector<Place> places;
  std::array<Walk, kWalks> walks;
  size_t read = 0;                    ///< bytes of the word that have places
  std::vector<size_t> path;           ///< ends of pieces, the last first
  uint32_t unknown_begin = kNowhere;  ///< unknown text that is not closed yet
  uint32_t unknown_end = 0;
};

Unigram::Unigram(const Vocab& vocab, UnigramOptions options, std::string_view where)
    : vocab_(vocab),
      scores_(std::move(options.scores)),
      trie_after_(options.trie_after),
      unk_id_(options.unk_id),
      byte_fallback_(options.byte_fallback) {
  const size_t pieces = vocab.pieces();
  if (pieces == 0) bad(where, "the Unigram vocabulary is empty");
  if (scores_.size() != pieces) {
    bad(where, fmt::format("{} scores for {} pieces", scores_.size(), pieces));
  }
  if (unk_id_ && (*unk_id_ < 0 || static_cast<size_t>(*unk_id_) >= pieces)) {
    bad(where, fmt::format("unk_id {} is not one of the {} pieces", *unk_id_, pieces));
  }
  double least = INFINITY;
  for (size_t id = 0; id < pieces; ++id) {
    const std::string_view text = vocab.text(static_cast<int32_t>(id));
    if (!std::isfinite(scores_[id])) {
      bad(where, fmt::format("the score of piece {} is not a finite number", id));
    }
    if (!is_utf8(text)) bad(where, fmt::format("piece {} is not UTF-8", id));
    least = std::min(least, scores_[id]);
    if (text.empty()) continue;
    size_t& longest = longest_[static_cast<unsigned char>(text[0])];
    longest = std::max(longest, text.size());
  }
  unk_score_ = least - kUnknownPenalty;
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = piece(fmt::format("<0x{:02X}>", byte));
  }
}

std::unique_ptr<SubwordModel::Scratch> Unigram::make_scratch() const {
  return std::make_unique<Buffers>();
}

/// Sees to it that place `i` has its character; false at the end of the word.
bool Unigram::read_place(std::string_view word, Buffers& b, size_t i) {
  if (i + 1 < b.places.size()) return true;
  if (b.read >= word.size()) return false;
  const DecodedChar c = decode_utf8(word, b.read);
  b.places[i].code_point = c.code_point;
  b.read += c.length;
  Place& next = b.places.emplace_back();
  next.from = kNowhere;
  next.byte = static_cast<uint32_t>(b.read);
  return true;
}

/// The trie, once it is worth it. Bytes that are no UTF-8 are characters to the trie alone.
const PieceTrie* Unigram::trie_for(std::string_view word) const {
  if (const PieceTrie* trie = trie_.load(std::memory_order_acquire)) return trie;
  const size_t before = split_.fetch_add(word.size(), std::memory_order_relaxed);
  if (before + word.size() <= trie_after_ && is_utf8(word)) return nullptr;
  std::call_once(once_, [&] {
    made_ = std::make_unique<const PieceTrie>(
        vocab_.pieces(), [&](size_t id) { return vocab_.text(static_cast<int32_t>(id)); });
    trie_.store(made_.get(), std::memory_order_release);
  });
  return made_.get();
}

/// The piece with this text; -1: there is none.
int32_t Unigram::piece(std::string_view text) const {
  const int32_t id = vocab_.find(text);
  return id >= 0 && static_cast<size_t>(id) < vocab_.pieces() ? id : -1;
}

/// Whether a piece may be as long as the characters [begin, end) of the word, whose places are
/// known.
bool Unigram::reaches(std::string_view word, const Buffers& b, size_t begin, size_t end) const {
  const size_t from = b.places[begin].byte;
  return b.places[end].byte - from <= longest_[static_cast<unsigned char>(word[from])];
}

int32_t Unigram::piece(std::string_view word, const Buffers& b, size_t begin, size_t end) const {
  const size_t from = b.places[begin].byte;
  return piece(word.substr(from, b.places[end].byte - from));
}

/// What `walk` does, without the trie.
void Unigram::look_up(std::string_view word, Buffers& b, size_t begin, size_t n) const {
  for (size_t i = begin; i < begin + n; ++i) {
    Walk& walk = b.walks[i - begin];
    walk.steps = 0;
    for (size_t end = i + 1; walk.steps < kSteps && reaches(word, b, i, end); ++end) {
      walk.values[walk.steps++] = piece(word, b, i, end);
      if (!read_place(word, b, end)) break;
    }
  }
}

/// Looks for the pieces that begin at the places [begin, begin + n), at all of them in turn, so
/// that the cache misses of the trie overlap.
void Unigram::walk(std::string_view word, Buffers& b, size_t begin, size_t n) const {
  if (!b.trie) return look_up(word, b, begin, n);
  const PieceTrie& trie = *b.trie;
  std::array<uint8_t, kWalks> going;
  for (size_t w = 0; w < n; ++w) {
    b.walks[w].steps = 0;
    b.walks[w].key = PieceTrie::first(b.places[begin + w].code_point);
    trie.prefetch(b.walks[w].key);
    going[w] = static_cast<uint8_t>(w);
  }
  for (size_t left = n, kept = 0; left > 0; left = std::exchange(kept, 0)) {
    for (size_t g = 0; g < left; ++g) {
      Walk& walk = b.walks[going[g]];
      const PieceTrie::Edge* edge = trie.find(walk.key);
      if (!edge) continue;
      walk.edge = edge;
      walk.values[walk.steps++] = edge->value;
      if (edge->value >= 0) __builtin_prefetch(&scores_[static_cast<size_t>(edge->value)]);
      const size_t next = begin + going[g] + walk.steps;
      if (walk.steps == kSteps || !read_place(word, b, next)) continue;
      walk.key = PieceTrie::next(*edge, b.places[next].code_point);
      if (walk.key == 0) continue;
      trie.prefetch(walk.key);
      going[kept++] = going[g];
    }
  }
}

/// Tries all pieces that `walk` found from place `i` on; returns the place where the longest ends.
size_t Unigram::advance(std::string_view word, Buffers& b, size_t i, const Walk& walk) const {
  const double before = b.places[i].score;
  const auto relax = [&](size_t end, double score, int32_t id) {
    Place& target = b.places[end];
    const double sum = score + before;
    if (target.from != kNowhere && !(sum > target.score)) return;
    if (id == kNoUnknown) {
      const size_t length = decode_utf8(word, b.places[i].byte).length;
      bad("", fmt::format("'{}' is no piece of the vocabulary, which has no unknown token",
                          printable(word.substr(b.places[i].byte, length))));
    }
    target.score = sum;
    target.from = static_cast<uint32_t>(i);
    target.id = id;
  };
  size_t longest = i + 1;
  const auto found = [&](size_t end, int32_t id) {
    if (id < 0) return;
    relax(end, scores_[static_cast<size_t>(id)], id);
    longest = end;
  };
  for (size_t step = 0; step < walk.steps; ++step) found(i + step + 1, walk.values[step]);
  if (walk.steps == kSteps && b.trie) {  // a long piece: the rest of the way
    const PieceTrie::Edge* edge = walk.edge;
    for (size_t k = i + kSteps; edge && read_place(word, b, k);) {
      const uint64_t key = PieceTrie::next(*edge, b.places[k].code_point);
      edge = key == 0 ? nullptr : b.trie->find(key);
      if (edge) found(++k, edge->value);
    }
  } else if (walk.steps == kSteps) {
    for (size_t k = i + kSteps; read_place(word, b, k) && reaches(word, b, i, k + 1);) {
      ++k;
      found(k, piece(word, b, i, k));
    }
  }
  const bool single = walk.steps > 0 && walk.values[0] >= 0;
  if (!single) relax(i + 1, unk_score_, unk_id_.value_or(kNoUnknown));
  return longest;
}

void Unigram::split(std::string_view word, Scratch& scratch, std::vector<Subword>& out) const {
  Buffers& b = static_cast<Buffers&>(scratch);
  b.trie = trie_for(word);
  b.places.assign(1, Place{});
  b.read = 0;
  b.unknown_begin = kNowhere;
  size_t i = 0;
  for (size_t reach = 0; read_place(word, b, i);) {
    if (reach <= i && i >= kFlushAfter) {  // every way goes through here
      emit(word, b, i, out);
      b.places.erase(b.places.begin(), b.places.begin() + static_cast<ptrdiff_t>(i));
      i = reach = 0;
    }
    size_t n = 1;
    while (n < kWalks && read_place(word, b, i + n)) ++n;
    walk(word, b, i, n);
    for (size_t w = 0; w < n; ++w, ++i) reach = std::max(reach, advance(word, b, i, b.walks[w]));
  }
  emit(word, b, i, out);
  close_unknown(word, b, out);
}

/// Appends the pieces of the best way to the place `last`. Unknown text at its end stays open.
void Unigram::emit(std::string_view word, Buffers& b, size_t last,
                   std::vector<Subword>& out) const {
  b.path.clear();
  for (size_t i = last; i > 0; i = b.places[i].from) b.path.push_back(i);
  for (size_t k = b.path.size(); k-- > 0;) {
    const Place& end = b.places[b.path[k]];
    const uint32_t begin = b.places[end.from].byte;
    if (unk_id_ && end.id == *unk_id_) {
      if (b.unknown_begin == kNowhere) b.unknown_begin = begin;
      b.unknown_end = end.byte;
      continue;
    }
    close_unknown(word, b, out);
    out.push_back({end.id, begin, end.byte});
  }
}

/// The pieces of neighbouring unknown characters: together they may be a piece of the vocabulary.
void Unigram::close_unknown(std::string_view word, Buffers& b, std::vector<Subword>& out) const {
  if (b.unknown_begin == kNowhere) return;
  const uint32_t begin = b.unknown_begin, end = b.unknown_end;
  b.unknown_begin = kNowhere;
  const std::string_view text = word.substr(begin, end - begin);
  const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  const int32_t known = b.trie ? b.trie->value(text) : piece(text);
  if (known < 0 && byte_fallback_ &&
      std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c) >= 0; })) {
    for (char c : text) out.push_back({id_of(c), begin, end});
    return;
  }
  out.push_back({known >= 0 ? known : *unk_id_, begin, end});
}

}  // namespace bert
