#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace bert {

/// The flags of BertNormalizer, in the order in which it applies them.
struct NormalizerOptions {
  bool clean_text = true;            ///< drops control characters, turns white space into blanks
  bool handle_chinese_chars = true;  ///< puts blanks around each Chinese character
  bool strip_accents = true;         ///< decomposes canonically, then drops marks (Mn)
  bool lowercase = true;             ///< one character at a time
};

/// A character of the normalised text and the bytes of the original that it stands for.
struct NormalizedChar {
  char32_t code_point;
  uint32_t begin;
  uint32_t end;
};

/// Normalises a text character by character, equal to the reference's BertNormalizer. Memory does
/// not grow with the text, except for a run of marks that strip_accents keeps.
///
/// Thread rule: belongs to one thread, which can use it for many texts.
class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options) : options_(options) {}

  /// Begins a text. Byte 0 of `text` is byte `base` of the original.
  void start(std::string_view text, uint32_t base);
  /// The next character; false at the end.
  bool next(NormalizedChar& out);
  /// Maximal invalid parts of UTF-8 read since start().
  size_t replaced() const { return replaced_; }

 private:
  struct Span {
    uint32_t begin;
    uint32_t end;
  };
  /// A mark that strip_accents keeps.
  struct Mark {
    char32_t code_point;
    uint32_t rank;  ///< how many marks of its class, up to this mark, begin a source character
  };

  bool read_clean(size_t& position, char32_t& code_point, Span& span, size_t& replaced) const;
  void decompose_and_sort(char32_t code_point, Span span);
  bool run_is_dropped(const char32_t* parts, size_t n);
  void sort_run(const char32_t* parts, size_t n, Span span, bool whole);
  void emit(char32_t code_point, Span span);

  NormalizerOptions options_;
  std::string_view text_;
  uint32_t base_ = 0;
  size_t position_ = 0;
  size_t replaced_ = 0;
  std::vector<NormalizedChar> ready_;  ///< produced and not yet handed out
  size_t ready_at_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace bert
