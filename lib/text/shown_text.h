#pragma once

#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Text that may be shown anywhere: what is not UTF-8, controls and the characters that change
/// how others are shown (formats, such as those of direction) are written as \xNN or \u{N}. White
/// space alone and nothing become ␣.
BERT_API std::string shown_text(std::string_view text);

/// Columns of a terminal: 2 for a character of East Asia and most emoji, 0 for marks.
BERT_API size_t display_width(std::string_view text);

/// `text` cut to `columns`, of which the last is … if something was left out.
BERT_API std::string cut_to(std::string_view text, size_t columns);

/// `text` for XML and HTML, between tags and in quotes: & < > " ' are escaped.
BERT_API std::string markup(std::string_view text);

}  // namespace bert
