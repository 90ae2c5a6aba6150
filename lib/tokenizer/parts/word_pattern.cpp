#include "tokenizer/parts/word_pattern.h"

#include "text/unicode.h"
#include "tokenizer/parts/byte_level.h"

namespace bert {
namespace {

constexpr struct {
  std::string_view regex;
  WordPattern pattern;
} kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     WordPattern::gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
     R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::qwen2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
     R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::qwen3_5},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::o200k},
};

bool is_letter(unsigned kind) { return (kind & kCharLetter) != 0; }
bool is_mark(unsigned kind) {
  constexpr unsigned kBoth = kCharNotLower | kCharNotUpper;
  return (kind & kBoth) == kBoth && !is_letter(kind);
}
bool is_line_end(char32_t c) { return c == '\r' || c == '\n'; }

/// A text, as a pattern reads it.
class Reader {
 public:
  Reader(WordPattern pattern, std::string_view text) : text_(text), pattern_(pattern) {}

  size_t word_end(size_t begin) const {
    const bool cased = pattern_ == WordPattern::o200k;
    size_t end = cased ? cased_word(begin) : contraction(begin);
    if (end == begin && !cased) end = letters(begin);
    if (end == begin) end = numbers(begin);
    if (end == begin) end = others(begin);
    return end == begin ? white(begin) : end;
  }

 private:
  DecodedChar at(size_t i) const { return decode_utf8(text_, i); }
  bool ends(size_t i) const { return i >= text_.size(); }

  /// Where the characters end that begin at text[i) and are found by `is(kind, character)`.
  template <typename Is>
  size_t run(size_t i, Is is) const {
    while (!ends(i)) {
      const DecodedChar c = at(i);
      if (!is(char_class(c.code_point), c.code_point)) break;
      i += c.length;
    }
    return i;
  }

  /// (?i:'s|'t|'re|'ve|'m|'ll|'d); `i`: none. U+017F is an s.
  size_t contraction(size_t i) const {
    if (ends(i) || text_[i] != '\'') return i;
    const auto lower = [&](size_t k) {
      return k < text_.size() ? static_cast<char>(text_[k] | 0x20) : '\0';
    };
    const char first = lower(i + 1), second = lower(i + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return i + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return i + 3;
    if (first == 'l' && second == 'l') return i + 3;
    return text_.substr(i + 1).starts_with("\xC5\xBF") ? i + 3 : i;
  }

  /// [^\r\n\p{L}\p{N}]?; `i`: none.
  size_t prefix(size_t i) const {
    const DecodedChar c = at(i);
    const bool found =
        !is_line_end(c.code_point) && !(char_class(c.code_point) & (kCharLetter | kCharNumber));
    return found ? i + c.length : i;
  }

  /// [^\r\n\p{L}\p{N}]?\p{L}+, of Qwen 3.5 with marks among the letters; `i`: none.
  size_t letters(size_t i) const {
    const bool marks = pattern_ == WordPattern::qwen3_5;
    const auto is = [&](unsigned kind, char32_t) {
      return is_letter(kind) || (marks && is_mark(kind));
    };
    const size_t from = prefix(i);
    const size_t end = run(from, is);
    return end > from ? end : run(i, is);
  }

  /// One alternative of the words of o200k: capitals, then small letters; `i`: none. What is
  /// neither is both, so of capitals alone the word ends behind the last such character.
  size_t small_word(size_t i) const {
    size_t last = i;
    for (size_t end = i; !ends(end);) {
      const DecodedChar c = at(end);
      const unsigned kind = char_class(c.code_point);
      if (!(kind & kCharNotLower)) return kind & kCharNotUpper ? run(end, not_upper) : last;
      end += c.length;
      if (kind & kCharNotUpper) last = end;
    }
    return last;
  }

  /// Words of o200k, a contraction behind them included; `i`: none.
  size_t cased_word(size_t i) const {
    const size_t from = prefix(i);
    size_t begin = from, end = small_word(from);
    if (end == begin) end = small_word(begin = i);
    if (end == begin) end = run(begin = from, not_lower);
    if (end == begin) end = run(begin = i, not_lower);
    return end == begin ? i : contraction(end);
  }

  /// \p{N}{1,3} or \p{N}; `i`: none.
  size_t numbers(size_t i) const {
    const bool one = pattern_ == WordPattern::qwen2 || pattern_ == WordPattern::qwen3_5;
    int left = one ? 1 : 3;
    return run(i, [&](unsigned kind, char32_t) { return (kind & kCharNumber) && left-- > 0; });
  }

  /// " ?[^\s\p{L}\p{N}]+[\r\n]*", of o200k with [\r\n/]*; `i`: none.
  size_t others(size_t i) const {
    const bool marks = pattern_ != WordPattern::qwen3_5, slash = pattern_ == WordPattern::o200k;
    const size_t from = text_[i] == ' ' ? i + 1 : i;
    const size_t end = run(from, [&](unsigned kind, char32_t) {
      return !(kind & (kCharLetter | kCharNumber | kCharWhite)) && (marks || !is_mark(kind));
    });
    if (end == from) return i;
    return run(end, [&](unsigned, char32_t c) { return is_line_end(c) || (slash && c == '/'); });
  }

  /// \s*[\r\n]+|\s+(?!\S)|\s+
  size_t white(size_t i) const {
    size_t end = i, last = i, line = i;
    while (!ends(end)) {
      const DecodedChar c = at(end);
      if (!(char_class(c.code_point) & kCharWhite)) break;
      last = end;
      end += c.length;
      if (is_line_end(c.code_point)) line = end;
    }
    if (line > i) return line;
    return ends(end) || last == i ? end : last;
  }

  static bool not_upper(unsigned kind, char32_t) { return (kind & kCharNotUpper) != 0; }
  static bool not_lower(unsigned kind, char32_t) { return (kind & kCharNotLower) != 0; }

  std::string_view text_;
  WordPattern pattern_;
};

}  // namespace

std::optional<WordPattern> find_word_pattern(std::string_view regex) {
  for (const auto& row : kPatterns) {
    if (row.regex == regex) return row.pattern;
  }
  return std::nullopt;
}

size_t word_end(WordPattern pattern, std::string_view text, size_t begin) {
  if (pattern == WordPattern::gpt2) return byte_level_word_end(text, begin);
  return Reader(pattern, text).word_end(begin);
}

}  // namespace bert
