#include "tokenizer/engines/wordpiece.h"

#include <algorithm>
#include <bit>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "tokenizer/models/wordpiece_model.h"
#include "tokenizer/parts/added_tokens.h"

namespace bert {
namespace {

constexpr size_t kTableSize =
    0x10000;  // code points with a place in the table of single characters

/// How many of the 16 bytes at `p` are ASCII letters and digits before the first that is not.
size_t alphanumeric_run(const char* p) {
#ifdef __SSE2__
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const auto in_range = [](__m128i x, char first, char count) {
    const __m128i from_first = _mm_sub_epi8(x, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_first, _mm_set1_epi8(static_cast<char>(count - 1))),
                          from_first);
  };
  const __m128i letters = in_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 26);
  const auto mask =
      static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(letters, in_range(bytes, '0', 10))));
  return static_cast<size_t>(std::countr_one(mask));
#else
  size_t n = 0;
  for (; n < 16; ++n) {
    const auto c = static_cast<unsigned char>(p[n]);
    const bool letter = static_cast<unsigned char>((c | 0x20) - 'a') < 26;
    if (!letter && static_cast<unsigned char>(c - '0') >= 10) break;
  }
  return n;
#endif
}

void append_char(char32_t c, std::string& text) {
  char bytes[4];
  text.append(bytes, encode_utf8(c, bytes));
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
  ascii_ids_.fill(options.unk_id);
  for (size_t id = 0; id < vocab.pieces(); ++id) {
    const std::string_view text = vocab.text(static_cast<int32_t>(id));
    if (text.empty() || text.size() > 3) continue;
    const DecodedChar c = decode_utf8(text, 0);
    if (c.length != text.size()) continue;
    single_ids_[c.code_point] = static_cast<int32_t>(id) + 1;
    if (c.code_point < 128) ascii_ids_[c.code_point] = static_cast<int32_t>(id);
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

std::unique_ptr<Engine::Scratch> WordPiece::make_scratch() const {
  return std::make_unique<Scratch>(*this);
}

std::string WordPiece::normalize_token(std::string_view token) const {
  Normalizer normalizer(options_.normalizer);
  normalizer.start(token, 0);
  std::string text;
  for (NormalizedChar c; normalizer.next(c);) append_char(c.code_point, text);
  return text;
}

void WordPiece::set_added(const AddedTokenMatcher* added) {
  added_ = added->empty() ? nullptr : added;
}

void WordPiece::run(std::string_view text, size_t begin, size_t end, bool literal,
                    Engine::Scratch& scratch, PieceBuffer& out) const {
  auto& own = static_cast<Scratch&>(scratch);
  if (!added_) return scan(text, begin, end, own, out);
  std::vector<NormalizedChar>& chars = own.chars_of_text;
  chars.clear();
  own.normalizer.start(text.substr(begin, end - begin), static_cast<uint32_t>(begin));
  for (NormalizedChar c; own.normalizer.next(c);) chars.push_back(c);
  own.replaced += own.normalizer.replaced();
  split_around_added(chars, literal, own, out);
}

/// Splits a normalised text, in which added tokens are found first.
void WordPiece::split_around_added(const std::vector<NormalizedChar>& chars, bool literal,
                                   Scratch& scratch, PieceBuffer& out) const {
  std::string text;
  for (const NormalizedChar& c : chars) append_char(c.code_point, text);
  size_t at = 0;  // bytes of `text` and characters that are done
  size_t done = 0;
  const auto skip = [&](size_t to, auto use) {
    for (; at < to; ++done) {
      use(chars[done]);
      at += decode_utf8(text, at).length;
    }
  };
  size_t from = 0;
  size_t taken = 0;
  AddedTokenMatcher::Match match{};
  while (!out.stopped() && added_->next(text, literal, from, taken, match)) {
    skip(match.begin, [&](const NormalizedChar& c) { feed(c, scratch, out); });
    finish_word(scratch, out);
    const size_t first = done;
    skip(match.end, [](const NormalizedChar&) {});
    if (done > first) {
      out.push({match.token->id, {chars[first].begin, chars[done - 1].end}, scratch.next_word++});
    }
    out.flush_if_full();
  }
  skip(text.size(), [&](const NormalizedChar& c) {
    feed(c, scratch, out);
    out.flush_if_full();
  });
  finish_word(scratch, out);
}

void WordPiece::scan(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                     PieceBuffer& out) const {
  const auto byte_at = [&](size_t i) { return bytes_[static_cast<unsigned char>(text[i])]; };
  for (size_t i = begin; i < end;) {
    out.flush_if_full();
    if (out.stopped()) return;
    const Byte byte = byte_at(i);
    if (byte == kBlank) {
      ++i;
      continue;
    }
    if (byte == kPunctuation) {
      const auto at = static_cast<uint32_t>(i);
      out.push(
          {ascii_ids_[static_cast<unsigned char>(text[i])], {at, at + 1}, scratch.next_word++});
      ++i;
      continue;
    }
    if (byte == kWord && end - i > AsciiWord::kLongest) {
      const size_t n = alphanumeric_run(text.data() + i);
      if (n < AsciiWord::kLongest && byte_at(i + n) <= kPunctuation) {
        ascii_word(text, i, n, scratch, out);
        i += n + (text[i + n] == ' ' ? 1 : 0);
        continue;
      }
    }
    if (byte == kHigh) {
      const DecodedChar c = decode_utf8(text.substr(0, end), i);
      const Role what = c.valid ? role(c.code_point) : Role::word;
      if (what != Role::word) {
        const auto at = static_cast<uint32_t>(i);
        if (what == Role::single) {
          out.push({single_id(c.code_point), {at, at + c.length}, scratch.next_word++});
        }
        i += c.length;
        continue;
      }
    }
    bool ascii = true;
    const size_t length = chunk_end(text, i, end, ascii) - i;
    if (ascii && length <= AsciiWord::kLongest) {
      ascii_word(text, i, length, scratch, out);
    } else if (ascii) {
      split_ascii(text.substr(i, length), static_cast<uint32_t>(i), scratch, out);
    } else {
      chunk(text, i, length, scratch, out);
    }
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

void WordPiece::ascii_word(std::string_view text, size_t begin, size_t length, Scratch& scratch,
                           PieceBuffer& out) const {
  scratch.seen.word(text, begin, length, scratch, out, [&] {
    split_ascii(text.substr(begin, length), static_cast<uint32_t>(begin), scratch, out);
  });
}

void WordPiece::chunk(std::string_view text, size_t begin, size_t length, Scratch& scratch,
                      PieceBuffer& out) const {
  const auto split = [&] {
    normalize(text.substr(begin, length), static_cast<uint32_t>(begin), scratch, out);
  };
  if (length > ShortText::kLongest) return split();
  scratch.seen.chunk(text, begin, length, scratch, out, split);
}

void WordPiece::split_ascii(std::string_view chunk, uint32_t base, Scratch& scratch,
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

/// Normalises a chunk, and splits what comes out.
void WordPiece::normalize(std::string_view chunk, uint32_t base, Scratch& scratch,
                          PieceBuffer& out) const {
  scratch.normalizer.start(chunk, base);
  const bool may_flush = chunk.size() > ShortText::kLongest;
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
  const bool fits = scratch.chars <= options_.max_input_chars_per_word;
  scratch.chars = 0;
  const auto add = [&](int32_t id, size_t begin, size_t end) {
    out.push({id, {scratch.begin_at[begin], scratch.end_at[end]}, word});
  };
  const bool known = fits && longest_first(vocab_, scratch.word, scratch.prefix_hashes, add);
  if (!known) {
    out.drop_since(mark);
    out.push({options_.unk_id, {scratch.word_begin, scratch.word_end}, word});
  }
}

}  // namespace bert
