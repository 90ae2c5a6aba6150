#include "text/grapheme.h"

#include "text/unicode.h"

namespace bert {
namespace {

/// In the order of make_grapheme_tables.py.
enum Class : uint8_t {
  kAny,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kSpacingMark,
  kPrepend,
  kPictograph,
  kConsonant,
  kL,  // Hangul
  kV,
  kT,
  kLV,
  kLVT,
  kLinker,      // Extend that joins the consonants of a conjunct
  kOtherExtend  // Extend that may not stand in a conjunct
};

Class class_of(char32_t c) {
  using namespace grapheme_tables;
  return static_cast<Class>(
      kBlocks[(size_t{kIndex[c >> kBlockBits]} << kBlockBits) + (c & ((1u << kBlockBits) - 1))]);
}

bool extends(Class c) { return c == kExtend || c == kLinker || c == kOtherExtend; }
bool is_control(Class c) { return c == kControl || c == kCr || c == kLf; }

/// What stands before a place, as far as the rules ask.
class Before {
 public:
  explicit Before(Class first) { add(first); }

  void add(Class c) {
    pictograph_ = c == kPictograph                               ? Pictograph::seen
                  : extends(c)                                   ? seen_only(Pictograph::seen)
                  : c == kZwj && pictograph_ == Pictograph::seen ? Pictograph::joined
                                                                 : Pictograph::none;
    conjunct_ = c == kConsonant               ? Conjunct::consonant
                : conjunct_ == Conjunct::none ? Conjunct::none
                : c == kLinker                ? Conjunct::linked
                : c == kExtend || c == kZwj   ? conjunct_
                                              : Conjunct::none;
    last_ = c;
  }

  /// Rules GB3 to GB11.
  bool joins(Class c) const {
    if (last_ == kCr && c == kLf) return true;
    if (is_control(last_) || is_control(c)) return false;
    if (extends(c) || c == kZwj || c == kSpacingMark || last_ == kPrepend) return true;
    switch (c) {
      case kL:
      case kLV:
      case kLVT:
        return last_ == kL;
      case kV:
        return last_ == kL || last_ == kV || last_ == kLV;
      case kT:
        return last_ == kV || last_ == kLV || last_ == kT || last_ == kLVT;
      case kConsonant:
        return conjunct_ == Conjunct::linked;
      case kPictograph:
        return pictograph_ == Pictograph::joined;
      default:
        return false;
    }
  }

 private:
  enum class Pictograph : uint8_t { none, seen, joined };
  enum class Conjunct : uint8_t { none, consonant, linked };

  Pictograph seen_only(Pictograph wanted) const {
    return pictograph_ == wanted ? wanted : Pictograph::none;
  }

  Class last_ = kAny;
  Pictograph pictograph_ = Pictograph::none;
  Conjunct conjunct_ = Conjunct::none;
};

}  // namespace

size_t grapheme_end(std::string_view text, size_t i) {
  DecodedChar c = decode_utf8(text, i);
  i += c.length;
  for (Before before(class_of(c.code_point)); i < text.size(); i += c.length) {
    c = decode_utf8(text, i);
    const Class next = class_of(c.code_point);
    if (!before.joins(next)) break;
    before.add(next);
  }
  return i;
}

}  // namespace bert
