#include "tokenizer/wordpiece.h"

#include <algorithm>

namespace bert {
namespace {

constexpr size_t kTableSize =
    0x10000;  // code points with a place in the table of single characters

void remember(WordCache::Entry& entry, const WordCache::Key& key, size_t length, uint32_t base,
              int32_t first_word, int32_t next_word, std::span<const Piece> pieces) {
  if (pieces.size() > WordCache::kMostPieces) return;
  entry.key = key;
  entry.length = static_cast<uint8_t>(length);
  entry.pieces = static_cast<uint8_t>(pieces.size());
  entry.words = static_cast<uint8_t>(next_word - first_word);
  for (size_t k = 0; k < pieces.size(); ++k) {
    entry.ids[k] = pieces[k].id;
    entry.begin[k] = static_cast<uint8_t>(pieces[k].offset.begin - base);
    entry.end[k] = static_cast<uint8_t>(pieces[k].offset.end - base);
    entry.word[k] = static_cast<uint8_t>(pieces[k].word - first_word);
  }
}

}  // namespace

WordPiece::Scratch::Scratch(const WordPiece& model) : normalizer(model.options_.normalizer) {}

WordPiece::WordPiece(const Vocab& vocab, const WordPieceOptions& options)
    : vocab_(vocab), options_(options), single_ids_(kTableSize) {
  const NormalizerOptions& n = options.normalizer;
  blank_mask_ = n.clean_text ? kCharSpace : kCharWhite;
  single_mask_ = kCharPunctuation | (n.handle_chinese_chars ? unsigned{kCharCjk} : 0u);
  changed_mask_ = (n.clean_text ? unsigned{kCharRemoved} : 0u) |
                  (n.strip_accents ? kCharDecomposes | kCharMark : 0u) |
                  (n.lowercase ? unsigned{kCharLowers} : 0u);
  for (char32_t c = 0; c < 256; ++c) {
    const bool alphanumeric = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    bytes_[c] = c >= 0x80                 ? kHigh
                : alphanumeric            ? kWord
                : role(c) == Role::blank  ? kBlank
                : role(c) == Role::single ? kPunctuation
                                          : kOther;
  }
  for (size_t id = 0; id < vocab.pieces(); ++id) {
    const std::string_view text = vocab.text(static_cast<int32_t>(id));
    if (text.empty() || text.size() > 3) continue;
    const DecodedChar c = decode_utf8(text, 0);
    if (c.length == text.size()) single_ids_[c.code_point] = static_cast<int32_t>(id) + 1;
  }
}

WordPiece::Role WordPiece::role(char32_t c) const {
  const unsigned kind = char_class(c);
  if (kind & blank_mask_) return Role::blank;
  return (kind & single_mask_) && !(kind & changed_mask_) ? Role::single : Role::word;
}

int32_t WordPiece::single_id(char32_t c) const {
  if (c < kTableSize) return single_ids_[c] > 0 ? single_ids_[c] - 1 : options_.unk_id;
  char bytes[4];
  const int32_t id = vocab_.find({bytes, encode_utf8(c, bytes)});
  return id >= 0 && static_cast<size_t>(id) < vocab_.pieces() ? id : options_.unk_id;
}

void WordPiece::run(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                    PieceBuffer& out) const {
  for (size_t i = begin; i < end;) {
    out.flush_if_full();
    if (out.stopped()) return;
    const auto byte = static_cast<unsigned char>(text[i]);
    size_t length = 1;
    char32_t single = byte;
    switch (bytes_[byte]) {
      case kBlank:
        ++i;
        continue;
      case kPunctuation:
        break;
      case kHigh: {
        const DecodedChar c = decode_utf8(text.substr(0, end), i);
        const Role what = c.valid ? role(c.code_point) : Role::word;
        if (what == Role::blank) {
          i += c.length;
          continue;
        }
        if (what == Role::single) {
          length = c.length;
          single = c.code_point;
          break;
        }
        [[fallthrough]];
      }
      case kWord:
      case kOther: {
        bool ascii = true;
        const size_t stop = chunk_end(text, i, end, ascii);
        chunk(text, i, stop, ascii, scratch, out);
        i = stop;
        continue;
      }
    }
    out.push({single_id(single),
              {static_cast<uint32_t>(i), static_cast<uint32_t>(i + length)},
              scratch.next_word++});
    i += length;
  }
}

/// Where the chunk that begins at text[i] ends: at a blank or at a character that is a word of its
/// own. Combining marks never reach over such a character, so chunks are normalised one by one.
/// `ascii` becomes false if it has more than ASCII letters and digits.
size_t WordPiece::chunk_end(std::string_view text, size_t i, size_t end, bool& ascii) const {
  while (i < end) {
    const Byte byte = bytes_[static_cast<unsigned char>(text[i])];
    if (byte == kWord) {
      ++i;
    } else if (byte == kBlank || byte == kPunctuation) {
      break;
    } else if (byte == kOther) {
      ascii = false;
      ++i;
    } else {
      const DecodedChar c = decode_utf8(text.substr(0, end), i);
      if (c.valid && role(c.code_point) != Role::word) break;
      ascii = false;
      i += c.length;
    }
  }
  return i;
}

void WordPiece::chunk(std::string_view text, size_t begin, size_t end, bool ascii, Scratch& scratch,
                      PieceBuffer& out) const {
  const size_t length = end - begin;
  const auto base = static_cast<uint32_t>(begin);
  const bool cached = length <= WordCache::kLongestKey;
  WordCache::Entry* entry = nullptr;
  WordCache::Key key;
  if (cached) {
    key = WordCache::key(text.data() + begin, length, text.size() - begin);
    entry = &scratch.cache.slot(key, length);
    if (WordCache::holds(*entry, key, length)) {
      Piece* pieces = out.room(WordCache::kMostPieces);
      for (size_t k = 0; k < entry->pieces; ++k) {
        pieces[k] = {entry->ids[k],
                     {base + entry->begin[k], base + entry->end[k]},
                     scratch.next_word + entry->word[k]};
      }
      out.added(entry->pieces);
      scratch.next_word += entry->words;
      return;
    }
  }
  const size_t mark = out.size();
  const int32_t first_word = scratch.next_word;
  const size_t replaced = scratch.replaced;
  if (ascii) {
    ascii_chunk(text.substr(begin, length), base, scratch, out);
  } else {
    slow_chunk(text.substr(begin, length), base, scratch, out);
  }
  if (cached && scratch.replaced == replaced) {
    remember(*entry, key, length, base, first_word, scratch.next_word, out.since(mark));
  }
}

void WordPiece::ascii_chunk(std::string_view chunk, uint32_t base, Scratch& scratch,
                            PieceBuffer& out) const {
  scratch.chars = chunk.size();
  scratch.word_begin = base;
  scratch.word_end = base + static_cast<uint32_t>(chunk.size());
  const size_t stored = std::min(chunk.size(), options_.max_input_chars_per_word);
  scratch.word.assign(chunk.data(), stored);
  if (options_.normalizer.lowercase) {
    for (char& c : scratch.word) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    }
  }
  if (scratch.begin_at.size() <= stored) {
    scratch.begin_at.resize(stored + 1);
    scratch.end_at.resize(stored + 1);
  }
  for (size_t k = 0; k <= stored; ++k) {
    scratch.begin_at[k] = scratch.end_at[k] = base + static_cast<uint32_t>(k);
  }
  finish_word(scratch, out);
}

void WordPiece::slow_chunk(std::string_view chunk, uint32_t base, Scratch& scratch,
                           PieceBuffer& out) const {
  scratch.normalizer.start(chunk, base);
  const bool may_flush = chunk.size() > WordCache::kLongestKey;
  for (NormalizedChar c; scratch.normalizer.next(c);) {
    feed(c, scratch, out);
    if (may_flush) {
      out.flush_if_full();
      if (out.stopped()) break;
    }
  }
  finish_word(scratch, out);
  scratch.replaced += scratch.normalizer.replaced();
}

void WordPiece::feed(const NormalizedChar& c, Scratch& scratch, PieceBuffer& out) const {
  const unsigned kind = char_class(c.code_point);
  if (kind & (kCharWhite | kCharPunctuation)) {
    finish_word(scratch, out);
    if (kind & kCharWhite) return;
    out.push({single_id(c.code_point), {c.begin, c.end}, scratch.next_word++});
    return;
  }
  if (scratch.chars == 0) {
    scratch.word.clear();
    scratch.word_begin = c.begin;
  }
  scratch.word_end = c.end;
  if (++scratch.chars > options_.max_input_chars_per_word) return;
  char bytes[4];
  const size_t at = scratch.word.size();
  const size_t n = encode_utf8(c.code_point, bytes);
  scratch.word.append(bytes, n);
  if (scratch.begin_at.size() <= at + n) {
    scratch.begin_at.resize(2 * (at + n));
    scratch.end_at.resize(2 * (at + n));
  }
  scratch.begin_at[at] = c.begin;
  scratch.end_at[at + n] = c.end;
}

/// Ends the word that was collected, if any: its pieces, or one unknown token for all of it.
void WordPiece::finish_word(Scratch& scratch, PieceBuffer& out) const {
  if (scratch.chars == 0) return;
  const size_t mark = out.size();
  const int32_t word = scratch.next_word++;
  bool known = scratch.chars <= options_.max_input_chars_per_word;
  scratch.chars = 0;
  const std::string& text = scratch.word;
  if (known) {
    scratch.prefix_hashes.resize(std::max(scratch.prefix_hashes.size(), text.size() + 1));
    scratch.prefix_hashes[0] = 0;
    for (size_t k = 0; k < text.size(); ++k) {
      scratch.prefix_hashes[k + 1] = hash_append(scratch.prefix_hashes[k], text[k]);
    }
    for (size_t start = 0, end = 0; start < text.size(); start = end) {
      const int32_t id = vocab_.longest_match(text, scratch.prefix_hashes.data(), start, end);
      if (id < 0) {
        known = false;
        break;
      }
      out.push({id, {scratch.begin_at[start], scratch.end_at[end]}, word});
    }
  }
  if (!known) {
    out.drop_since(mark);
    out.push({options_.unk_id, {scratch.word_begin, scratch.word_end}, word});
  }
}

}  // namespace bert
