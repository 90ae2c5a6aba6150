#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bert {

/// The end of the extended grapheme cluster that begins at text[i], i < text.size(): what a reader
/// calls a character (Unicode 17, UAX 29), with the tables and the result of tokenizers 0.23 but
/// for flags, which come as two clusters. `text` is UTF-8.
size_t grapheme_end(std::string_view text, size_t i);

namespace grapheme_tables {  // grapheme_tables.cpp, generated
constexpr unsigned kBlockBits = 7;
extern const uint8_t kIndex[0x110000 >> kBlockBits];
extern const uint8_t kBlocks[];
}  // namespace grapheme_tables

}  // namespace bert
