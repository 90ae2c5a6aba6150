#include "tokenizer/vocab.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace bert {
namespace {

uint64_t hash_of(std::string_view text, uint64_t hash = 0) {
  for (char c : text) hash = hash_append(hash, c);
  return hash;
}

/// Remembers that a piece with the first byte of `text` has its length.
void note_length(uint64_t (&lengths)[256], size_t& longest, std::string_view text) {
  lengths[static_cast<unsigned char>(text[0])] |= uint64_t{1} << std::min<size_t>(text.size(), 63);
  longest = std::max(longest, text.size());
}

/// memcmp for a few bytes, without the call.
bool equal_bytes(const char* a, const char* b, size_t n) {
  const auto differ = [&](size_t i, auto word) {
    auto other = word;
    std::memcpy(&word, a + i, sizeof word);
    std::memcpy(&other, b + i, sizeof other);
    return word != other;
  };
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8) {
      if (differ(i, uint64_t{})) return false;
    }
    return !differ(n - 8, uint64_t{});
  }
  if (n >= 4) return !differ(0, uint32_t{}) && !differ(n - 4, uint32_t{});
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

Vocab::Vocab(std::string_view continuing_prefix, size_t longest_piece)
    : prefix_(continuing_prefix),
      prefix_hash_(hash_of(continuing_prefix)),
      longest_piece_(longest_piece) {}

template <typename Equal>
int32_t Vocab::probe(uint64_t hash, Equal equal) const {
  if (slots_.empty()) return -1;
  const uint64_t mixed = mix(hash);
  const auto tag = static_cast<uint32_t>(mixed >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t i = mixed >> shift_;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id < 0) return -1;
    if (slot.tag == tag && equal(slot)) return slot.id;
  }
}

int32_t Vocab::find(std::string_view token) const {
  return probe(hash_of(token), [&](const Slot& slot) { return text(slot.span) == token; });
}

void Vocab::reserve(size_t tokens, size_t bytes) {
  text_.reserve(bytes);
  spans_.reserve(tokens);
}

/// Enters all tokens into a table for at least `capacity`. Where a slot is, is known some tokens
/// before it is needed, so that the table's cache misses overlap.
void Vocab::build(size_t capacity) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, capacity * 2));
  slots_.assign(size, {0, -1, {}});
  shift_ = static_cast<unsigned>(64 - std::countr_zero(size));
  duplicates_ = 0;
  constexpr size_t kAhead = 32;
  uint64_t mixed[kAhead];
  const size_t count = spans_.size();
  for (size_t i = 0; i < count + kAhead; ++i) {
    if (i >= kAhead && spans_[i - kAhead].length > 0) {
      insert(mixed[i % kAhead], static_cast<int32_t>(i - kAhead));
    }
    if (i < count) {
      mixed[i % kAhead] = mix(hash_of(text(spans_[i])));
      __builtin_prefetch(&slots_[mixed[i % kAhead] >> shift_], 1);
    }
  }
}

void Vocab::close() {
  build(spans_.size());
  pieces_ = spans_.size();
  closed_ = true;
}

/// Enters the text of `id`; an equal one gives way.
void Vocab::insert(uint64_t mixed, int32_t id) {
  const Span span = spans_[static_cast<size_t>(id)];
  const auto tag = static_cast<uint32_t>(mixed >> 32);
  const size_t mask = slots_.size() - 1;
  size_t i = mixed >> shift_;
  while (slots_[i].id >= 0 && !(slots_[i].tag == tag && text(slots_[i].span) == text(span)))
    i = (i + 1) & mask;
  if (slots_[i].id >= 0 && duplicates_++ == 0) first_duplicate_ = static_cast<size_t>(id);
  slots_[i] = {tag, id, span};
}

void Vocab::add(std::string_view token) {
  spans_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(token.size())});
  text_.append(token);
  if (closed_) {
    if (spans_.size() * 2 > slots_.size()) {
      build(spans_.size() * 2);
    } else if (!token.empty()) {
      insert(mix(hash_of(token)), static_cast<int32_t>(spans_.size() - 1));
    }
    return;
  }
  if (token.empty()) return;
  if (token.size() <= longest_piece_) note_length(initial_lengths_, longest_initial_, token);
  if (token.size() > prefix_.size() && token.starts_with(prefix_)) {
    const std::string_view piece = token.substr(prefix_.size());
    if (piece.size() <= longest_piece_)
      note_length(continuing_lengths_, longest_continuing_, piece);
  }
  while (powers_.size() <= std::max(longest_initial_, longest_continuing_)) {
    powers_.push_back(powers_.back() * kHashFactor);
  }
}

void Vocab::append_texts(std::span<const Piece> pieces, std::string& out) const {
  constexpr size_t kCopy = 16;  // bytes copied of a short text, whatever its length
  size_t bytes = kCopy;
  for (const Piece& piece : pieces) bytes += spans_[static_cast<size_t>(piece.id)].length + 1;
  size_t at = out.size();
  out.resize(at + bytes);
  for (const Piece& piece : pieces) {
    const Span span = spans_[static_cast<size_t>(piece.id)];
    const bool fixed = span.length <= kCopy && span.begin + kCopy <= text_.size();
    if (fixed) {
      std::memcpy(out.data() + at, text_.data() + span.begin, kCopy);
    } else {
      std::memcpy(out.data() + at, text_.data() + span.begin, span.length);
    }
    at += span.length;
    out[at++] = ' ';
  }
  out.resize(at);
}

int32_t Vocab::longest_match(std::string_view word, const uint64_t* prefix_hashes, size_t start,
                             size_t& end) const {
  const bool initial = start == 0;
  const auto first = static_cast<unsigned char>(word[start]);
  const uint64_t lengths = initial ? initial_lengths_[first] : continuing_lengths_[first];
  const std::string_view prefix = initial ? std::string_view{} : std::string_view{prefix_};
  const size_t longest = initial ? longest_initial_ : longest_continuing_;
  for (size_t n = std::min(longest, word.size() - start); n > 0; --n) {
    if (!(lengths >> std::min<size_t>(n, 63) & 1)) continue;
    uint64_t hash = prefix_hashes[start + n] - prefix_hashes[start] * powers_[n];
    if (!initial) hash += prefix_hash_ * powers_[n];
    const int32_t found = probe(hash, [&](const Slot& slot) {
      const char* piece = text_.data() + slot.span.begin;
      return static_cast<size_t>(slot.id) < pieces_ && slot.span.length == prefix.size() + n &&
             equal_bytes(piece, prefix.data(), prefix.size()) &&
             equal_bytes(piece + prefix.size(), word.data() + start, n);
    });
    if (found >= 0) {
      end = start + n;
      return found;
    }
  }
  return -1;
}

}  // namespace bert
