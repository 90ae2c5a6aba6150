#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bert {

/// The spelling of bytes in byte-level vocabularies (GPT-2, RoBERTa): each byte is a character that
/// can be printed. A letter is itself, a blank is U+0120.
char32_t byte_level_char(unsigned char byte);

/// The byte that a character stands for; -1: none.
int byte_level_byte(char32_t c);

/// Appends the bytes of `text` in that spelling.
void append_byte_level(std::string_view text, std::string& out);

/// Appends the bytes that a token stands for; the token itself if it is not spelt so.
void append_byte_level_bytes(std::string_view token, std::string& out);

/// Where the word ends that begins at text[begin), by the pattern of GPT-2. An invalid part of
/// UTF-8 counts as U+FFFD. With `behind_blank` the word begins with a blank that is not in the
/// text, and it may be nothing more.
///
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t byte_level_word_end(std::string_view text, size_t begin, bool behind_blank = false);

}  // namespace bert
