#include "tokenizer/models/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/parts/byte_level.h"

namespace bert {
namespace {

/// Up to here looking through all pairs for the next one to join is faster than a heap.
constexpr size_t kFew = 48;

}  // namespace

Bpe::Bpe(const Vocab& vocab, BpeOptions options, std::span<const BpeMerge> merges,
         const std::string& where)
    : vocab_(vocab), options_(std::move(options)) {
  for (size_t id = 0; id < vocab.pieces(); ++id) {
    longest_ = std::max(longest_, vocab.text(static_cast<int32_t>(id)).size());
  }
  const size_t size = std::bit_ceil(std::max<size_t>(16, merges.size() * 2));
  merges_.resize(size);
  shift_ = static_cast<unsigned>(64 - std::countr_zero(size));
  for (size_t i = 0; i < merges.size(); ++i) add_merge(merges[i], static_cast<uint32_t>(i), where);
  if (options_.unk_token) {
    if (const int32_t id = find(*options_.unk_token); id >= 0) unk_id_ = id;
  }
  has_all_bytes_ = options_.prefix.empty() && options_.suffix.empty();
  for (unsigned b = 0; b < 256; ++b) {
    byte_ids_[b] = find(fmt::format("<0x{:02X}>", b));
    std::string spelt;
    const char byte = static_cast<char>(b);
    append_byte_level({&byte, 1}, spelt);
    spelt_byte_ids_[b] = find(spelt);
    has_all_bytes_ = has_all_bytes_ && spelt_byte_ids_[b] >= 0;
    if (b < 128) ascii_ids_[b] = find({&byte, 1});
  }
  if (options_.unk_token && !unk_id_ && !has_all_bytes_) {
    throw Error(Error::Kind::data, where,
                fmt::format("the unknown token {} is not in the vocabulary",
                            printable(*options_.unk_token)));
  }
}

int32_t Bpe::find(std::string_view token) const {
  const int32_t id = vocab_.find(token);
  return id >= 0 && static_cast<size_t>(id) < vocab_.pieces() ? id : -1;
}

void Bpe::add_merge(const BpeMerge& merge, uint32_t rank, const std::string& where) {
  const auto id_of = [&](std::string_view token) {
    const int32_t id = find(token);
    if (id < 0) {
      throw Error(Error::Kind::data, where,
                  fmt::format("merge {} makes or joins {}, which the vocabulary does not have",
                              rank + 1, printable(token)));
    }
    return id;
  };
  const int32_t left = id_of(merge.left), right = id_of(merge.right);
  std::string joined(merge.left);
  joined += merge.right.substr(std::min(options_.prefix.size(), merge.right.size()));
  const uint64_t pair = pair_of(left, right);
  merges_[slot(pair)] = {pair, rank,
                         id_of(joined)};  // of equal pairs the last counts, as in the reference
}

/// Where the pair's entry is, or the empty one that it gets.
size_t Bpe::slot(uint64_t pair) const {
  uint64_t hash = pair * 0x9E3779B97F4A7C15u;
  hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
  size_t i = hash >> shift_;
  while (merges_[i].pair != pair && merges_[i].pair != kNoPair) i = (i + 1) & (merges_.size() - 1);
  return i;
}

const Bpe::Merge* Bpe::merge_of(int32_t left, int32_t right) const {
  const Merge& merge = merges_[slot(pair_of(left, right))];
  return merge.pair == kNoPair ? nullptr : &merge;
}

std::unique_ptr<SubwordModel::Scratch> Bpe::make_scratch() const {
  return std::make_unique<Scratch>();
}

/// With ignore_merges a word that is a token.
bool Bpe::whole(std::string_view word, size_t length, std::vector<Subword>& out) const {
  if (!options_.ignore_merges) return false;
  const int32_t id = find(word);
  if (id >= 0) out.push_back({id, 0, static_cast<uint32_t>(length)});
  return id >= 0;
}

void Bpe::split(std::string_view word, SubwordModel::Scratch& scratch,
                std::vector<Subword>& out) const {
  if (word.empty() || whole(word, word.size(), out)) return;
  auto& own = static_cast<Scratch&>(scratch);
  own.symbols.clear();
  add_characters(word, own);
  join(own, out);
}

void Bpe::split_bytes(std::string_view word, SubwordModel::Scratch& scratch,
                      std::vector<Subword>& out) const {
  auto& own = static_cast<Scratch&>(scratch);
  if (!whole_bytes(word, own, out)) join_bytes(word, own, out);
}

bool Bpe::whole_bytes(std::string_view word, Scratch& scratch, std::vector<Subword>& out) const {
  if (!options_.ignore_merges || word.size() > longest_) return false;
  scratch.text.clear();
  append_byte_level(word, scratch.text);
  return whole(scratch.text, word.size(), out);
}

void Bpe::join_bytes(std::string_view bytes, Scratch& scratch, std::vector<Subword>& out) const {
  scratch.symbols.clear();
  for (const char byte : bytes) {
    scratch.symbols.push_back({spelt_byte_ids_[static_cast<unsigned char>(byte)], 1, 0, 0});
  }
  join(scratch, out);
}

/// Whether two neighbours are what becomes of both together.
bool Bpe::stay_apart(std::string_view word, const Subword& left, const Subword& right,
                     Scratch& scratch) const {
  std::vector<Subword> both;
  join_bytes(word.substr(left.begin, right.end - left.begin), scratch, both);
  return both.size() == 2 && both[0].end == left.end - left.begin;
}

/// Pieces are those of the whole word if each two neighbours are what becomes of these two alone:
/// the first pair to be joined across a boundary between them would be joined there too. So the
/// word is split part by part, each part from a boundary on that lies well before the end of the
/// part before. A boundary that bytes behind the part would have removed shows when its neighbours
/// do not stay apart; then the part before is made longer.
void Bpe::split_long_bytes(std::string_view word, SubwordModel::Scratch& scratch,
                           const Sink& sink) const {
  auto& own = static_cast<Scratch&>(scratch);
  std::vector<Subword>& kept = own.kept;  // of the part before, which begins at `before`
  kept.clear();
  if (whole_bytes(word, own, kept)) {
    sink(kept);
    return;
  }
  Subword last;  // the one that the sink got last; empty: none
  size_t before = 0, begin = 0, length = kLongWord;
  for (;;) {
    const size_t end = std::min(word.size(), begin + length);
    own.pieces.clear();
    join_bytes(word.substr(begin, end - begin), own, own.pieces);
    for (Subword& s : own.pieces) {
      s.begin += static_cast<uint32_t>(begin);
      s.end += static_cast<uint32_t>(begin);
    }
    const Subword& left = kept.empty() ? last : kept.back();
    if (left.end > 0 && !stay_apart(word, left, own.pieces.front(), own)) {
      if (kept.empty()) {
        throw Error(Error::Kind::unsupported, "",
                    fmt::format("a word of {} bytes cannot be split part by part", word.size()));
      }
      kept.clear();
      begin = before;
      length *= 2;
      continue;
    }
    if (!kept.empty()) {
      last = kept.back();
      if (!sink(kept)) return;
    }
    if (end == word.size()) {
      sink(own.pieces);
      return;
    }
    const auto near_end =
        std::find_if(own.pieces.begin() + 1, own.pieces.end(),
                     [&](const Subword& s) { return s.end > end - (end - begin) / 8; });
    own.pieces.erase(near_end, own.pieces.end());
    std::swap(kept, own.pieces);
    before = begin;
    begin = kept.back().end;
    length = kLongWord;
  }
}

void Bpe::add_characters(std::string_view word, Scratch& scratch) const {
  // An unknown token waits for the next known one, also behind what byte_fallback adds, as in the
  // reference.
  uint32_t unknown = 0;
  const auto add_unknown = [&] {
    if (unknown > 0) scratch.symbols.push_back({*unk_id_, unknown, 0, 0});
    unknown = 0;
  };
  for (size_t i = 0; i < word.size();) {
    const auto length = static_cast<uint32_t>(utf8_step(word, i).length);
    std::string_view character = word.substr(i, length);
    const bool first = i == 0, last = i + length == word.size();
    const bool bare = (first || options_.prefix.empty()) && (!last || options_.suffix.empty());
    i += length;
    if (!bare) {
      scratch.text.assign(first ? "" : options_.prefix).append(character);
      if (last) scratch.text += options_.suffix;
      character = scratch.text;
    }
    const auto byte = static_cast<unsigned char>(character[0]);
    const int32_t id = bare && byte < 128 ? ascii_ids_[byte] : find(character);
    if (id >= 0) {
      add_unknown();
      scratch.symbols.push_back({id, length, 0, 0});
    } else if (!options_.byte_fallback || !add_fallback(character, scratch)) {
      if (!unk_id_) continue;
      if (!options_.fuse_unk) add_unknown();
      unknown += length;
    }
  }
  add_unknown();
}

bool Bpe::add_fallback(std::string_view character, Scratch& scratch) const {
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
  for (const char byte : character) {
    if (id_of(byte) < 0) return false;
  }
  for (const char byte : character) scratch.symbols.push_back({id_of(byte), 1, 0, 0});
  return true;
}

/// Joins the symbols and appends what remains.
void Bpe::join(Scratch& scratch, std::vector<Subword>& out) const {
  if (scratch.symbols.size() <= kFew) {
    join_few(scratch);
  } else {
    join_many(scratch);
  }
  uint32_t at = 0;
  for (const Symbol& symbol : scratch.symbols) {
    if (symbol.length == 0) continue;
    out.push_back({symbol.id, at, at + symbol.length});
    at += symbol.length;
  }
}

void Bpe::join_few(Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  uint32_t ranks[kFew];
  int32_t joined[kFew];
  size_t n = symbols.size();
  const auto look_up = [&](size_t i) {
    const Merge* merge = i + 1 < n ? merge_of(symbols[i].id, symbols[i + 1].id) : nullptr;
    ranks[i] = merge ? merge->rank : kNone;
    joined[i] = merge ? merge->joined : 0;
  };
  for (size_t i = 0; i < n; ++i) look_up(i);
  while (n > 1) {
    const size_t best = static_cast<size_t>(std::min_element(ranks, ranks + n) - ranks);
    if (ranks[best] == kNone) break;
    symbols[best].id = joined[best];
    symbols[best].length += symbols[best + 1].length;
    for (size_t i = best + 1; i + 1 < n; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      joined[i] = joined[i + 1];
    }
    --n;
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.resize(n);
}

void Bpe::join_many(Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<uint64_t>& heap = scratch.heap;
  const auto count = static_cast<uint32_t>(symbols.size());
  heap.clear();
  const auto entry = [&](uint32_t i) {
    const Merge* merge = merge_of(symbols[i].id, symbols[symbols[i].next].id);
    return merge ? uint64_t{merge->rank} << 32 | i : UINT64_MAX;
  };
  const auto push = [&](uint32_t i) {
    const uint64_t e = entry(i);
    if (e == UINT64_MAX) return;
    heap.push_back(e);
    std::push_heap(heap.begin(), heap.end(), std::greater{});
  };
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? kNone : i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : kNone;
  }
  for (uint32_t i = 0; i + 1 < count; ++i) {
    if (const uint64_t e = entry(i); e != UINT64_MAX) heap.push_back(e);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater{});
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater{});
    const uint64_t top = heap.back();
    heap.pop_back();
    const auto i = static_cast<uint32_t>(top);
    Symbol& left = symbols[i];
    // An entry of a pair that is no longer there is passed over.
    if (left.length == 0 || left.next == kNone || entry(i) != top) continue;
    Symbol& right = symbols[left.next];
    left.id = merge_of(left.id, right.id)->joined;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next != kNone) {
      symbols[left.next].previous = i;
      push(i);
    }
    if (left.previous != kNone) push(left.previous);
  }
}

}  // namespace bert
