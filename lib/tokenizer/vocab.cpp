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

}  // namespace

Vocab::Vocab(std::string_view continuing_prefix, size_t longest_piece)
    : prefix_(continuing_prefix),
      prefix_hash_(hash_of(continuing_prefix)),
      longest_piece_(longest_piece) {}

template <typename Equal>
int32_t Vocab::probe(uint64_t hash, Equal equal) const {
  if (slots_.empty()) return -1;
  const uint64_t mixed = mix(hash);
  const size_t mask = slots_.size() - 1;
  for (size_t i = mixed >> shift_;; i = (i + 1) & mask) {
    const uint64_t slot = slots_[i];
    if (slot == 0) return -1;
    if ((slot ^ mixed) >> 32 != 0) continue;
    const auto id = static_cast<int32_t>(static_cast<uint32_t>(slot) - 1);
    if (equal(id)) return id;
  }
}

int32_t Vocab::find(std::string_view token) const {
  return probe(hash_of(token), [&](int32_t id) { return text(id) == token; });
}

void Vocab::grow(size_t tokens) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, tokens * 2));
  if (size <= slots_.size()) return;
  slots_.assign(size, 0);
  shift_ = static_cast<unsigned>(64 - std::countr_zero(size));
  distinct_ = 0;
  for (size_t id = 0; id < spans_.size(); ++id) {
    if (spans_[id].length > 0) insert(static_cast<int32_t>(id));
  }
}

void Vocab::reserve(size_t tokens, size_t bytes) {
  text_.reserve(bytes);
  spans_.reserve(tokens);
  grow(tokens);
}

/// Enters the text of `id`; an equal one gives way.
bool Vocab::insert(int32_t id) {
  const std::string_view token = text(id);
  const uint64_t mixed = mix(hash_of(token));
  const size_t mask = slots_.size() - 1;
  for (size_t i = mixed >> shift_;; i = (i + 1) & mask) {
    uint64_t& slot = slots_[i];
    const uint64_t entry = (mixed & 0xFFFFFFFF00000000u) | (static_cast<uint32_t>(id) + 1);
    if (slot == 0) {
      slot = entry;
      ++distinct_;
      return true;
    }
    if ((slot ^ mixed) >> 32 == 0 &&
        text(static_cast<int32_t>(static_cast<uint32_t>(slot) - 1)) == token) {
      slot = entry;
      return false;
    }
  }
}

bool Vocab::add(std::string_view token) {
  spans_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(token.size())});
  text_.append(token);
  if (token.empty()) return true;
  if (token.size() <= longest_piece_) note_length(initial_lengths_, longest_initial_, token);
  if (token.size() > prefix_.size() && token.starts_with(prefix_)) {
    const std::string_view piece = token.substr(prefix_.size());
    if (piece.size() <= longest_piece_)
      note_length(continuing_lengths_, longest_continuing_, piece);
  }
  while (powers_.size() <= std::max(longest_initial_, longest_continuing_)) {
    powers_.push_back(powers_.back() * kHashFactor);
  }
  if (distinct_ + 1 > slots_.size() / 2) {
    const size_t before = distinct_;
    grow(spans_.size() * 2);
    return distinct_ > before;
  }
  return insert(static_cast<int32_t>(spans_.size() - 1));
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
    const int32_t found = probe(hash, [&](int32_t id) {
      const std::string_view piece = text(id);
      return static_cast<size_t>(id) < pieces_ && piece.size() == prefix.size() + n &&
             std::memcmp(piece.data(), prefix.data(), prefix.size()) == 0 &&
             std::memcmp(piece.data() + prefix.size(), word.data() + start, n) == 0;
    });
    if (found >= 0) {
      end = start + n;
      return found;
    }
  }
  return -1;
}

}  // namespace bert
