#pragma once

#include <string>

namespace bert {

/// Takes away blanks that splitting put before punctuation, as the WordPiece decoder does with each
/// token.
std::string clean_up_tokens(std::string text);

/// As clean_up_tokenization of transformers does with the whole text: without "do not" -> "don't".
std::string clean_up_text(std::string text);

}  // namespace bert
