#pragma once

#include <cstddef>
#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace bert {

constexpr size_t kNoLimit = SIZE_MAX;

/// Tokens of text that fit beside `added` special tokens; kNoLimit if there is no max_length.
/// Throws Error(usage) if not even the special tokens fit.
size_t content_limit(const EncodeOptions& options, size_t added);

/// Tokens kept of a pair.
struct Kept {
  size_t first;
  size_t second;
};

/// How many of `first` and `second` tokens stay when together they may be `limit`, as in the
/// reference. Throws Error(usage) if the text that should give way is too short for it.
Kept truncate_pair(size_t first, size_t second, size_t limit, Truncation truncation);

[[noreturn]] void throw_no_second_text();

/// Windows of `size` tokens, each `stride` tokens of overlap after the one before, that cover
/// `tokens` tokens; at least 1. Throws Error(usage) if more than one is needed and the stride
/// leaves no step.
size_t window_count(size_t tokens, size_t size, size_t stride);

}  // namespace bert
