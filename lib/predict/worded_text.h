#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/encoding.h"

namespace bert {

/// Bytes [begin, end) of the text, with the combining marks of its letters.
struct Entity {
  size_t begin = 0, end = 0;
  std::string_view type = {};
  double score = 0;
};

/// A text, perhaps with words of its own. Its memory is kept from text to text.
struct WordedText {
  std::string_view text = {};
  bool given_words = false;        ///< `words` are the text's; else the model tells them
  std::vector<Offset> words = {};  ///< bytes of the text
};

}  // namespace bert
