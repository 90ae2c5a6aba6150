#include "tokenizer/engines/composed.h"

#include <algorithm>
#include <span>
#ifdef __SSE2__
#include <emmintrin.h>

#include <bit>
#endif

#include "base/error.h"
#include "text/unicode.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/wordpiece_model.h"
#include "tokenizer/parts/byte_level.h"

namespace bert {
namespace {

bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
bool is_alphanumeric(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }
bool is_printable(char c) { return c > ' ' && c <= '~'; }

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

size_t count_invalid(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = utf8_step(text, i);
    count += step.valid ? 0 : 1;
    i += step.length;
  }
  return count;
}

/// How many of the 16 bytes at `p` are ASCII letters before the first that is not.
size_t letter_run(const char* p) {
#ifdef __SSE2__
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i from_a = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
  const __m128i letters = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
  return static_cast<size_t>(std::countr_one(static_cast<unsigned>(_mm_movemask_epi8(letters))));
#else
  size_t n = 0;
  while (n < 16 && is_letter(p[n])) ++n;
  return n;
#endif
}

std::unique_ptr<SubwordModel> make_model(const SubwordPart& part, const Vocab& vocab,
                                         int32_t unk_id) {
  if (part.kind == SubwordPart::Kind::wordpiece) {
    return std::make_unique<WordPieceModel>(vocab, part.max_chars_per_word, unk_id);
  }
  if (part.kind == SubwordPart::Kind::unigram) {
    return std::make_unique<Unigram>(
        vocab, UnigramOptions{part.scores, part.unk_id, part.byte_fallback}, part.where);
  }
  std::vector<BpeMerge> merges;
  merges.reserve(part.merges.size());
  for (const auto& [left, right] : part.merges) merges.push_back({left, right});
  return std::make_unique<Bpe>(vocab,
                               BpeOptions{part.unk_token, part.fuse_unk, part.byte_fallback,
                                          part.ignore_merges, part.prefix, part.suffix},
                               merges, part.where);
}

/// The pattern whose words are cut, if nothing else becomes of them.
std::optional<WordPattern> only_byte_level(const std::vector<PreTokenizerPart>& parts) {
  using Kind = PreTokenizerPart::Kind;
  if (parts.size() == 1 && parts[0].kind == Kind::byte_level && parts[0].use_regex) {
    return WordPattern::gpt2;
  }
  const bool both = parts.size() == 2 && parts[0].kind == Kind::split_words &&
                    parts[0].behaviour == SplitBehaviour::isolated && !parts[0].invert &&
                    parts[1].kind == Kind::byte_level && !parts[1].use_regex &&
                    !parts[1].add_prefix_space;
  return both ? std::optional(parts[0].words) : std::nullopt;
}

}  // namespace

Composed::Composed(const TokenizerParts& parts, const Vocab& vocab, int32_t unk_id)
    : normalizer_(parts.normalizers),
      pre_tokenizer_(parts.pre_tokenizers),
      model_(make_model(parts.model, vocab, unk_id)),
      cut_places_(std::min(normalizer_.cut_places(), pre_tokenizer_.cut_places())) {
  const auto* bpe = dynamic_cast<const Bpe*>(model_.get());
  const auto pattern = only_byte_level(pre_tokenizer_.parts());
  if (bpe && bpe->has_all_bytes() && normalizer_.keeps_ascii() && pattern) {
    byte_level_ = bpe;
    words_ = *pattern;
    prefix_blank_ = pre_tokenizer_.parts()[0].add_prefix_space;
  }
}

void Composed::set_added(const AddedTokenMatcher* added) {
  added_ = added->empty() ? nullptr : added;
  if (!added->stays_between_blanks()) cut_places_ = CutPlaces::none;
}

/// Whether the text may be cut before text[i), which is neither its first nor its last byte.
bool Composed::is_cut(std::string_view text, size_t i) const {
  const auto is_edge = cut_places_ == CutPlaces::printable ? is_printable : is_alphanumeric;
  return text[i] == ' ' && is_edge(text[i - 1]) && is_edge(text[i + 1]);
}

/// The next place after `i` where the text may be cut.
size_t Composed::cut_after(std::string_view text, size_t i, size_t end) const {
  if (cut_places_ == CutPlaces::none) return end;
  for (++i; i + 1 < end; ++i) {
    if (is_cut(text, i)) return i;
  }
  return end;
}

/// The last place after `i` where the text may be cut so that it is ASCII up to there; `i` if there
/// is none.
size_t Composed::ascii_end(std::string_view text, size_t i, size_t end) const {
  if (cut_places_ == CutPlaces::none) return i;
  size_t last = i;
  while (last < end && static_cast<signed char>(text[last]) >= 0) ++last;
  if (last == end) return end;
  while (last > i && !is_cut(text, last)) --last;
  return last;
}

std::unique_ptr<Engine::Scratch> Composed::make_scratch() const {
  return std::make_unique<Scratch>(*this);
}

void Composed::run(std::string_view text, size_t begin, size_t end, bool literal,
                   Engine::Scratch& any_scratch, PieceBuffer& out) const {
  auto& scratch = static_cast<Scratch&>(any_scratch);
  if (byte_level_ && normalizer_.empty()) {
    bytes_with_added(text, {begin, end, true, true}, literal, scratch, out);
    return;
  }
  const bool whole = normalizer_.lags(text.substr(begin, end - begin));
  for (size_t i = begin; i < end && !out.stopped();) {
    size_t next = byte_level_ ? ascii_end(text, i, end) : i;
    if (next > i) {
      bytes_with_added(text, {i, next, i == begin, next == end}, literal, scratch, out);
      i = next;
      continue;
    }
    next = whole ? end : cut_after(text, i, end);
    part(text, {i, next, i == begin, next == end}, literal, scratch, out);
    out.flush_if_full();
    i = next;
  }
}

void Composed::part(std::string_view text, Part part, bool literal, Scratch& scratch,
                    PieceBuffer& out) const {
  const size_t length = part.end - part.begin;
  const std::string_view bytes = text.substr(part.begin, length);
  if (byte_level_ && is_ascii(bytes)) {
    bytes_with_added(text, part, literal, scratch, out);
    return;
  }
  const auto base = static_cast<uint32_t>(part.begin);
  const bool cached =
      length <= ShortText::kLongest && !part.first && !part.last && !(literal && added_);
  const auto work = [&] {
    scratch.text.clear();
    scratch.replaced += append_text(bytes, base, scratch.text);
    normalizer_.run(scratch.text, {base, part.first, part.last}, scratch.normalizer);
    normalized(literal, scratch, out);
  };
  scratch.may_flush = !cached;
  if (!cached) return work();
  scratch.seen.chunk(text, part.begin, length, scratch, out, work);
}

/// Splits scratch.text, in which added tokens are found first.
void Composed::normalized(bool literal, Scratch& scratch, PieceBuffer& out) const {
  const NormalText& text = scratch.text;
  size_t done = 0, from = 0, taken = 0;
  AddedTokenMatcher::Match match{};
  while (added_ && !out.stopped() && added_->next(text.text, literal, from, taken, match)) {
    if (done < match.begin) split(done, match.begin, scratch, out);
    if (match.begin < match.end) {
      const Offset offset{text.origins[match.begin].begin, text.origins[match.end - 1].end};
      out.push({match.token->id, offset, scratch.next_word++});
    }
    done = match.end;
  }
  if (done < text.text.size()) split(done, text.text.size(), scratch, out);
}

/// Splits a part of scratch.text in words and these in pieces.
void Composed::split(size_t begin, size_t end, Scratch& scratch, PieceBuffer& out) const {
  const auto from = [&](size_t i) {
    return scratch.text.origins.begin() + static_cast<std::ptrdiff_t>(i);
  };
  WordList& list = scratch.list;
  list.text.text.assign(scratch.text.text, begin, end - begin);
  list.text.origins.assign(from(begin), from(end));
  list.ends.assign(1, static_cast<uint32_t>(end - begin));
  pre_tokenizer_.run(list, scratch.pre_tokenizer);
  size_t word_begin = 0;
  for (const uint32_t word_end : list.ends) {
    const std::string_view word =
        std::string_view(list.text.text).substr(word_begin, word_end - word_begin);
    scratch.subwords.clear();
    model_->split(word, *scratch.model, scratch.subwords);
    for (const Subword& s : scratch.subwords) {
      Offset offset{s.begin, s.end};  // as in the reference if a piece reaches behind its word
      if (s.begin < s.end && s.end <= word.size()) {
        offset = {list.text.origins[word_begin + s.begin].begin,
                  list.text.origins[word_begin + s.end - 1].end};
      }
      out.push({s.id, offset, scratch.next_word});
    }
    ++scratch.next_word;
    word_begin = word_end;
    if (!scratch.may_flush) continue;
    out.flush_if_full();
    if (out.stopped()) return;
  }
}

// Words of a byte-level vocabulary, as they stand in the text

void Composed::bytes_with_added(std::string_view text, Part part, bool literal, Scratch& scratch,
                                PieceBuffer& out) const {
  const std::string_view bytes_in = text.substr(part.begin, part.end - part.begin);
  size_t done = 0, from = 0, taken = 0;
  AddedTokenMatcher::Match match{};
  while (added_ && !out.stopped() && added_->next(bytes_in, literal, from, taken, match)) {
    bytes(text, part.begin + done, part.begin + match.begin, scratch, out);
    const Offset offset{static_cast<uint32_t>(part.begin + match.begin),
                        static_cast<uint32_t>(part.begin + match.end)};
    out.push({match.token->id, offset, scratch.next_word++});
    done = match.end;
  }
  bytes(text, part.begin + done, part.end, scratch, out);
}

void Composed::bytes(std::string_view whole, size_t begin, size_t end, Scratch& scratch,
                     PieceBuffer& out) const {
  const std::string_view text = whole.substr(0, end);
  const bool letters_stay = words_ != WordPattern::o200k;  // which cuts between small and capital
  size_t i = begin;
  if (prefix_blank_ && i < end && text[i] != ' ') {
    const size_t word_end = byte_level_word_end(text, i, true);
    uncached_word(text, i, word_end, true, scratch, out);
    i = word_end;
  }
  while (i < end) {
    out.flush_if_full();
    if (out.stopped()) return;
    const size_t blank = text[i] == ' ' ? 1 : 0;
    if (letters_stay && end - i > AsciiWord::kLongest + 1) {
      const size_t n = letter_run(text.data() + i + blank);
      const size_t length = n + blank;
      if (n > 0 && length <= AsciiWord::kLongest && n < 16 &&
          static_cast<signed char>(text[i + length]) >= 0) {
        scratch.seen.word(text, i, length, scratch, out,
                          [&] { uncached_word(text, i, i + length, false, scratch, out); });
        i += length;
        continue;
      }
    }
    const size_t word_end = bert::word_end(words_, text, i);
    byte_word(text, i, word_end, scratch, out);
    i = word_end;
  }
}

void Composed::byte_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                         PieceBuffer& out) const {
  const auto split = [&] { uncached_word(text, begin, end, false, scratch, out); };
  if (end - begin > ShortText::kLongest) return split();
  scratch.seen.chunk(text, begin, end - begin, scratch, out, split);
}

/// The pieces of text[begin, end), a word, before which a blank is put that is not in the text.
void Composed::uncached_word(std::string_view text, size_t begin, size_t end, bool blank_before,
                             Scratch& scratch, PieceBuffer& out) const {
  const std::string_view word = text.substr(begin, end - begin);
  if (!blank_before && word.size() > Bpe::kLongWord) {
    if (count_invalid(word) == 0) return long_word(text, begin, end, scratch, out);
  }
  const auto base = static_cast<uint32_t>(begin);
  const int32_t number = scratch.next_word++;
  scratch.subwords.clear();
  if (!blank_before && is_ascii(word)) {
    byte_level_->split_bytes(word, *scratch.model, scratch.subwords);
    for (const Subword& s : scratch.subwords) {
      out.push({s.id, {base + s.begin, base + s.end}, number});
    }
    return;
  }
  NormalText& normal = scratch.text;
  normal.clear();
  if (blank_before) {
    const auto length = decode_utf8(text, begin).length;
    normal.append(" ", {base, base + length});
  }
  scratch.replaced += append_text(word, base, normal);
  byte_level_->split_bytes(normal.text, *scratch.model, scratch.subwords);
  for (const Subword& s : scratch.subwords) {
    out.push({s.id, {normal.origins[s.begin].begin, normal.origins[s.end - 1].end}, number});
  }
}

/// As uncached_word(), of valid UTF-8, without memory that grows with the word.
void Composed::long_word(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                         PieceBuffer& out) const {
  const int32_t number = scratch.next_word++;
  const auto inside = [&](size_t i) { return i < end && (text[i] & 0xC0) == 0x80; };
  byte_level_->split_long_bytes(
      text.substr(begin, end - begin), *scratch.model, [&](std::span<const Subword> pieces) {
        for (const Subword& s : pieces) {
          size_t first = begin + s.begin, last = begin + s.end;  // of a part of a character, all
          while (inside(first)) --first;
          while (inside(last)) ++last;
          out.push({s.id, {static_cast<uint32_t>(first), static_cast<uint32_t>(last)}, number});
        }
        out.flush_if_full();
        return !out.stopped();
      });
}

}  // namespace bert
