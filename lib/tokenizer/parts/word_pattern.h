#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bert {

/// The regular expressions that split words before a byte-level vocabulary, each with its own name
/// in the pattern of a Split of tokenizer.json.
enum class WordPattern { gpt2, llama3, qwen2, qwen3_5, o200k };

/// The pattern that is written so; nullopt: none.
std::optional<WordPattern> find_word_pattern(std::string_view regex);

/// Where the word ends that begins at text[begin). An invalid part of UTF-8 counts as U+FFFD.
size_t word_end(WordPattern pattern, std::string_view text, size_t begin);

}  // namespace bert
