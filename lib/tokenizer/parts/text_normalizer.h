#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/normal_text.h"
#include "tokenizer/parts/tokenizer_parts.h"

namespace bert {

/// The blanks before which a text may be cut: none, those between two ASCII letters or digits, or
/// those between two printable ASCII characters.
enum class CutPlaces { none, alphanumeric, printable };

/// The normalizer of a tokenizer.json, step by step, equal to tokenizers 0.23 in text and
/// alignment.
///
/// Thread rule: const after construction; each thread brings its own Scratch.
class TextNormalizer {
 public:
  struct Scratch {
    NormalText other;
    std::vector<ChangedChar> chars;
  };
  /// Where a part of a text stands in the text: what strip takes there.
  struct Place {
    uint32_t start = 0;  ///< its first byte in the record
    bool first = true;   ///< nothing of the text is before it
    bool last = true;    ///< or behind it
  };

  explicit TextNormalizer(std::vector<NormalizerPart> parts);

  bool empty() const { return parts_.empty(); }
  void run(NormalText& text, Place place, Scratch& scratch) const;
  /// A text without alignment.
  std::string run(std::string_view text) const;
  /// Before which blanks a text may be cut, so that its parts are normalised one by one.
  CutPlaces cut_places() const { return cut_places_; }
  /// Whether what `text` begins with vanishes so that the origins of all that follows lag behind
  /// (see Charsmap): such a text may not be cut.
  bool lags(std::string_view text) const;
  /// Whether ASCII stays as it is.
  bool keeps_ascii() const;

 private:
  bool may_be_cut() const;
  bool keeps_beside_blank(char c) const;

  std::vector<NormalizerPart> parts_;
  CutPlaces cut_places_ = CutPlaces::none;
};

/// Appends the characters of UTF-8 `text`, byte 0 of which is byte `start` of the record; an
/// invalid part becomes U+FFFD. Returns the number of such parts.
size_t append_text(std::string_view text, uint32_t start, NormalText& out);

}  // namespace bert
