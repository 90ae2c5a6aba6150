#pragma once

#include <string_view>
#include <vector>

#include "base/export.h"
#include "tokenizer/encoding.h"

namespace bert {

/// Appends the words of a text as GLiNER's splitter `whitespace` finds them, the regular expression
/// \w+(?:[-_]\w+)*|\S of Python: letters, numbers and _, also with hyphens inside; else each
/// character that is no white space. A combining mark is no \w there, so it is a word.
BERT_API void split_name_words(std::string_view text, std::vector<Offset>& words);

}  // namespace bert
