#include "text/sentences.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "text/unicode.h"

namespace bert {
namespace {

constexpr char32_t kParagraphSeparator = 0x2029;

bool is_white(char32_t c) { return char_class(c) & (kCharWhite | kCharSpace); }

/// Marks that end a sentence before white space.
bool is_stop(char32_t c) {
  constexpr char32_t kStops[] = {
      '!',    '.',    '?',    0x0589, 0x061F, 0x06D4,  // Armenian; Arabic question, Urdu full stop
      0x0964, 0x0965, 0x104A, 0x104B, 0x1362, 0x1367,  // Devanagari; Burmese; Ethiopic
      0x1368, 0x17D4, 0x17D5, 0x2026, 0x203C, 0x203D,  // Khmer; dots, double marks
      0x2047, 0x2048, 0x2049};
  return std::binary_search(std::begin(kStops), std::end(kStops), c);
}

/// Marks that end a sentence whatever follows: 。！．？｡
bool is_wide_stop(char32_t c) {
  return c == 0x3002 || c == 0xFF01 || c == 0xFF0E || c == 0xFF1F || c == 0xFF61;
}

/// Quotes and brackets that may close behind a stop.
bool is_closer(char32_t c) {
  constexpr char32_t kClosers[] = {'"',    '\'',   ')',    ']',    '}',    0xBB,   0x2019, 0x201D,
                                   0x203A, 0x3009, 0x300B, 0x300D, 0x300F, 0x3011, 0x3015, 0x3017,
                                   0x301E, 0xFF02, 0xFF07, 0xFF09, 0xFF3D, 0xFF5D, 0xFF63};
  return std::binary_search(std::begin(kClosers), std::end(kClosers), c);
}

/// A lower-case letter: of the scripts with two cases, one that has no lower form of its own.
bool is_lower(char32_t c) {
  const bool cased = c < 0x0590 || (c >= 0x1C80 && c < 0x2000) || (c >= 0xFF21 && c <= 0xFF5A);
  return cased && (char_class(c) & (kCharLetter | kCharLowers)) == kCharLetter;
}

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether `word` is one of the words of `list`, which blanks separate, whatever its case.
bool is_of(std::string_view list, std::string_view word) {
  std::string wanted = " ";
  std::transform(word.begin(), word.end(), std::back_inserter(wanted), ascii_lower);
  return list.find(wanted += ' ') != list.npos;
}

/// Abbreviations that a name or a word with a capital follows: titles, and what stands before an
/// example or a source.
constexpr std::string_view kBeforeNames =
    " mr mrs ms messrs mme mlle dr prof rev hon st sr sra sta jr gen col maj capt lt sgt cmdr adm "
    "gov sen rep pres amb fr hr frl dipl ing mt ft vs cf al eds esp approx bzw usw sog ggf evtl "
    "inkl "
    "vgl bes ca ";
/// Abbreviations that go on where a number follows.
constexpr std::string_view kBeforeNumbers =
    " no nos nr fig figs eq eqs vol vols ch sec secs art pp par chap bd abs jan feb mar apr jun "
    "jul "
    "aug sep sept oct nov dec ";

/// A sentence that is read: text[begin, ..), one of its stops at a time.
class Reader {
 public:
  Reader(std::string_view text, size_t begin) : text_(text), begin_(begin) {}

  size_t end() const {
    for (size_t i = begin_; i < text_.size();) {
      if (text_[i] == ' ' || (text_[i] >= '@' && text_[i] < 0x7F)) {  // most of Latin text
        ++i;
        continue;
      }
      const DecodedChar c = decode_utf8(text_, i);
      const bool wide = is_wide_stop(c.code_point);
      if (wide || is_stop(c.code_point)) {
        const size_t after = skip_marks(i + c.length);
        if (ends_at(i, c.code_point, after, wide)) return skip_white(after).end;
        i = after;
      } else if (is_white(c.code_point)) {
        const White white = skip_white(i);
        if (white.ends) return white.end;
        i = white.end;
      } else {
        i += c.length;
      }
    }
    return text_.size();
  }

 private:
  struct White {
    size_t end;
    bool ends;  ///< an empty line, or another sign that a paragraph ends
  };

  White skip_white(size_t i) const {
    int lines = 0;
    bool ends = false;
    while (i < text_.size()) {
      const DecodedChar c = decode_utf8(text_, i);
      if (!is_white(c.code_point)) break;
      lines += c.code_point == '\n';
      ends |= c.code_point == '\f' || c.code_point == kParagraphSeparator;
      i += c.length;
    }
    return {i, ends || lines > 1};
  }

  /// The end of the stops and closers at text[i].
  size_t skip_marks(size_t i) const {
    while (i < text_.size()) {
      const DecodedChar c = decode_utf8(text_, i);
      if (!is_stop(c.code_point) && !is_wide_stop(c.code_point) && !is_closer(c.code_point)) break;
      i += c.length;
    }
    return i;
  }

  /// Whether the sentence ends with the marks text[stop, after), of which `c` is the first.
  bool ends_at(size_t stop, char32_t c, size_t after, bool wide) const {
    if (wide || after == text_.size()) return true;
    const White white = skip_white(after);
    if (white.ends) return true;
    if (white.end == after) {  // no white space
      return (c == '!' || c == '?') && is_unspaced(decode_utf8(text_, after).code_point);
    }
    if (white.end == text_.size()) return true;
    const bool lone = after == stop + 1;  // "etc.)" and "Mr..." end what "Mr." does not
    return !goes_on_with_lower(white.end) && !(c == '.' && lone && is_abbreviated(stop, white.end));
  }

  /// Whether the first letter or digit from text[i] on is a lower-case letter.
  bool goes_on_with_lower(size_t i) const {
    while (i < text_.size()) {
      const DecodedChar c = decode_utf8(text_, i);
      if (is_lower(c.code_point)) return true;
      const bool word = char_class(c.code_point) & (kCharLetter | kCharNumber | kCharWhite);
      if (word || is_stop(c.code_point)) return false;
      i += c.length;
    }
    return false;
  }

  /// Whether the word before the full stop text[stop] is an abbreviation that goes on with what is
  /// at text[next].
  bool is_abbreviated(size_t stop, size_t next) const {
    size_t begin = stop;
    bool letters = true, digits = true;
    size_t length = 0, part = 0, longest_part = 0;  // characters
    while (begin > begin_) {
      size_t at = begin - 1;
      while (at > begin_ && (text_[at] & 0xC0) == 0x80) --at;
      const char32_t c = decode_utf8(text_, at).code_point;
      const unsigned kind = char_class(c);
      if (c != '.' && !(kind & (kCharLetter | kCharNumber | kCharAnyMark))) break;
      letters &= !(kind & kCharNumber);
      digits &= (kind & kCharNumber) != 0;
      part = c == '.' ? 0 : part + !(kind & kCharAnyMark);
      longest_part = std::max(longest_part, part);
      begin = at;
      if (++length > 16) return false;
    }
    if (length == 0) return false;
    const std::string_view word = text_.substr(begin, stop - begin);
    if (digits) return begin == begin_;
    if (letters && (longest_part == 1 || (longest_part == 2 && word.find('.') != word.npos))) {
      return true;
    }
    const bool number = char_class(decode_utf8(text_, next).code_point) & kCharNumber;
    return is_of(kBeforeNames, word) || (number && is_of(kBeforeNumbers, word));
  }

  std::string_view text_;
  size_t begin_;
};

}  // namespace

size_t sentence_end(std::string_view text, size_t i) { return Reader(text, i).end(); }

}  // namespace bert
