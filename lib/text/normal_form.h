#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/normal_text.h"

namespace bert {

/// A character of a text that a normalizer writes, and what it does to the one that was read: 0
/// replaces the next character, n > 0 is inserted after the last one, -n replaces the next and
/// removes n more. This is how tokenizers says what a normalizer did.
struct ChangedChar {
  char32_t code_point;
  int32_t change;
};

/// Writes `chars` to the end of `out`. They are what became of `in`, whose first character is not
/// preceded by any: what is inserted there stands for the empty place `start` of the record.
void append_changed(const NormalText& in, std::span<const ChangedChar> chars, uint32_t start,
                    NormalText& out);

/// The normal forms of Unicode.
enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Writes `in` in a normal form to the end of `out`, with the alignment that tokenizers 0.23 gives
/// it. `chars` is a buffer.
void append_normal_form(NormalForm form, const NormalText& in, uint32_t start,
                        std::vector<ChangedChar>& chars, NormalText& out);

}  // namespace bert
