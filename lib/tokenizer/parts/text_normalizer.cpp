#include "tokenizer/parts/text_normalizer.h"

#include <algorithm>

#include "text/grapheme.h"
#include "text/unicode.h"

namespace bert {
namespace {

using Kind = NormalizerPart::Kind;

bool is_white(char32_t c) { return (char_class(c) & kCharWhite) != 0; }

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

void append_part(const NormalText& in, size_t begin, size_t end, NormalText& out) {
  out.text.append(in.text, begin, end - begin);
  out.origins.insert(out.origins.end(), in.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                     in.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

/// Calls use(begin, end, code point) for each character.
template <typename Use>
void for_each_char(std::string_view text, Use use) {
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    use(i, i + c.length, c.code_point);
    i += c.length;
  }
}

void run_bert(const NormalizerOptions& options, const NormalText& in, NormalText& out) {
  Normalizer normalizer(options);
  normalizer.start(in.text, 0);
  for (NormalizedChar c; normalizer.next(c);) {
    char bytes[4];
    out.append({bytes, encode_utf8(c.code_point, bytes)}, in.origins[c.begin]);
  }
}

void lowercase(const NormalText& in, NormalText& out) {
  for_each_char(in.text, [&](size_t begin, size_t, char32_t c) {
    char32_t lower[2];
    const size_t n = to_lower(c, lower);
    for (size_t k = 0; k < n; ++k) {
      char bytes[4];
      out.append({bytes, encode_utf8(lower[k], bytes)}, in.origins[begin]);
    }
  });
}

void strip(bool left, bool right, bool only_blanks, const NormalText& in, NormalText& out) {
  size_t first = SIZE_MAX, last = 0;
  for_each_char(in.text, [&](size_t begin, size_t end, char32_t c) {
    if (only_blanks ? c == ' ' : is_white(c)) return;
    first = std::min(first, begin);
    last = end;
  });
  if (first == SIZE_MAX) {
    if (left || right) return;
    last = 0;
  }
  append_part(in, left ? first : 0, right ? last : in.text.size(), out);
}

void strip_accents(const NormalText& in, NormalText& out) {
  for_each_char(in.text, [&](size_t begin, size_t end, char32_t c) {
    if (!(char_class(c) & kCharAnyMark)) append_part(in, begin, end, out);
  });
}

/// The next match of what `part` replaces, from text[i) on; false: none.
bool find_replaced(const NormalizerPart& part, std::string_view text, size_t i, size_t& begin,
                   size_t& end) {
  if (part.kind == Kind::replace_text) {
    if (part.pattern.empty()) return false;
    begin = text.find(part.pattern, i);
    end = begin + part.pattern.size();
    return begin != std::string_view::npos;
  }
  const bool blanks = part.kind == Kind::replace_blanks;
  while (i < text.size()) {
    size_t run = 0;
    for (begin = end = i; end < text.size(); ++run) {
      const DecodedChar c = decode_utf8(text, end);
      if (blanks ? c.code_point != ' ' : !is_white(c.code_point)) break;
      end += c.length;
    }
    if (run > 1) return true;
    if (run == 1 && !blanks && (text[i] == '\n' || text[i] == '\r' || text[i] == '\t')) return true;
    i = run == 0 ? i + decode_utf8(text, i).length : end;
  }
  return false;
}

void replace(const NormalizerPart& part, const NormalText& in, NormalText& out) {
  size_t done = 0, begin = 0, end = 0;
  while (find_replaced(part, in.text, done, begin, end)) {
    append_part(in, done, begin, out);
    out.append(part.content, in.origins[end - 1]);
    done = end;
  }
  append_part(in, done, in.text.size(), out);
}

}  // namespace

TextNormalizer::TextNormalizer(std::vector<NormalizerPart> parts) : parts_(std::move(parts)) {
  if (!may_be_cut()) return;
  bool letters = true, all = true;
  for (char c = '!'; c <= '~'; ++c) {
    const bool keeps = keeps_beside_blank(c);
    all = all && keeps;
    letters = letters && (keeps || !is_alphanumeric(c));
  }
  cut_places_ = all ? CutPlaces::printable : letters ? CutPlaces::alphanumeric : CutPlaces::none;
}

void TextNormalizer::run(NormalText& text, Place place, Scratch& scratch) const {
  NormalText& out = scratch.other;
  for (const NormalizerPart& part : parts_) {
    out.clear();
    switch (part.kind) {
      case Kind::bert:
        run_bert(part.bert, text, out);
        break;
      case Kind::normal_form:
        append_normal_form(part.form, text, place.start, scratch.chars, out);
        break;
      case Kind::lowercase:
        lowercase(text, out);
        break;
      case Kind::strip:
        strip(part.left && place.first, part.right && place.last, part.only_blanks, text, out);
        break;
      case Kind::strip_accents:
        strip_accents(text, out);
        break;
      case Kind::replace_text:
      case Kind::replace_blanks:
      case Kind::replace_white:
        replace(part, text, out);
        break;
      case Kind::prepend:
        if (!text.text.empty()) out.append(part.content, text.origins[0]);
        append_part(text, 0, text.text.size(), out);
        break;
      case Kind::precompiled:
        if (!part.charsmap->normalize(text, out)) continue;
        break;
    }
    std::swap(text, out);
  }
}

std::string TextNormalizer::run(std::string_view text) const {
  NormalText normal;
  Scratch scratch;
  append_text(text, 0, normal);
  run(normal, {}, scratch);
  return std::move(normal.text);
}

bool TextNormalizer::lags(std::string_view text) const {
  if (text.empty() || (text[0] > ' ' && text[0] <= '~')) return false;
  const auto is_charsmap = [](const NormalizerPart& part) { return part.charsmap.has_value(); };
  if (std::none_of(parts_.begin(), parts_.end(), is_charsmap)) return false;
  return run(text.substr(0, utf8_step(text, 0).length)).empty() ||
         run(text.substr(0, grapheme_end(text, 0))).empty();
}

bool TextNormalizer::keeps_ascii() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const NormalizerPart& part) { return part.kind == Kind::normal_form; });
}

/// Patterns with letters, digits or white space could match across a cut, and an empty content
/// could bring characters together that match later; all other parts change a character by its
/// neighbours at most as far as the next blank.
bool TextNormalizer::may_be_cut() const {
  const auto has = [](std::string_view text, auto what) {
    return std::any_of(text.begin(), text.end(), what);
  };
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  return std::all_of(parts_.begin(), parts_.end(), [&](const NormalizerPart& part) {
    if (part.kind == Kind::prepend) return false;
    if (part.kind != Kind::replace_text) return true;
    return !has(part.pattern, is_alphanumeric) && !has(part.pattern, blank) &&
           !part.content.empty() && !has(part.content, blank);
  });
}

/// Whether `c` alone stays one character of ASCII, with a blank beside it too.
bool TextNormalizer::keeps_beside_blank(char c) const {
  const std::string one = run(std::string_view(&c, 1));
  return one.size() == 1 && one[0] > ' ' && is_alphanumeric(one[0]) == is_alphanumeric(c) &&
         run(std::string{c, ' ', c}) == one + ' ' + one;
}

size_t append_text(std::string_view text, uint32_t start, NormalText& out) {
  size_t replaced = 0;
  out.text.reserve(out.text.size() + text.size());
  out.origins.reserve(out.origins.size() + text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = utf8_step(text, i);
    const auto begin = start + static_cast<uint32_t>(i);
    const auto length = static_cast<uint32_t>(step.length);
    out.append(step.valid ? text.substr(i, length) : "\xEF\xBF\xBD", {begin, begin + length});
    replaced += step.valid ? 0 : 1;
    i += length;
  }
  return replaced;
}

}  // namespace bert
