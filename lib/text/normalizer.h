#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace bert {

/// The flags of BertNormalizer, in the order in which they work.
struct NormalizerOptions {
  bool clean_text = true;            ///< drop control characters, every white space a blank
  bool handle_chinese_chars = true;  ///< blanks around Chinese characters
  bool strip_accents = true;         ///< canonical decomposition, then drop Mn
  bool lowercase = true;             ///< one character at a time
};

/// A character of the normalised text and the bytes of the original that it stands for.
struct NormalizedChar {
  char32_t code_point;
  uint32_t begin;
  uint32_t end;
};

/// Normalises a text character by character, as BertNormalizer of the reference does, in memory
/// that does not grow with the text (but for a run of marks that strip_accents does not drop).
///
/// Thread rule: one thread; reused from text to text.
class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options) : options_(options) {}

  /// Begins a text. Its byte 0 is byte `base` of the original.
  void start(std::string_view text, uint32_t base);
  /// The next character; false at the end.
  bool next(NormalizedChar& out);
  /// Maximal invalid UTF-8 parts met since start.
  size_t replaced() const { return replaced_; }

 private:
  struct Span {
    uint32_t begin;
    uint32_t end;
  };
  /// A mark that strip_accents keeps.
  struct Mark {
    char32_t code_point;
    uint32_t
        rank;  ///< marks of its combining class, up to itself, that begin a character of the source
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
