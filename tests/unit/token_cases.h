#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "tokenizer/tokenizer.h"

namespace bert::test {

/// The ids of a text with its special tokens.
inline std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  Tokenizer::Scratch scratch;
  Encoding encoding;
  tokenizer.encode(text, {}, encoding, scratch);
  return encoding.input_ids;
}

/// The ids in a list of JSON.
inline std::vector<int32_t> numbers(Json list) {
  std::vector<int32_t> ids;
  list.for_each_element([&](Json id) { ids.push_back(static_cast<int32_t>(id.as_int())); });
  return ids;
}

}  // namespace bert::test
