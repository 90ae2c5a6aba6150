#pragma once

#include <cstddef>
#include <string_view>

namespace bert {

/// The end of the sentence that begins at text[i], i < text.size(), white space behind it included.
/// `text` is UTF-8; invalid bytes end nothing.
///
/// The rule is that of UAX 29 in spirit, for plain text, without a dictionary of the language:
///   - . ! ? and the full stops of other scripts, closing quotes and brackets behind them included,
///     end a sentence if white space and then no lower-case letter follows. ! and ? also do before
///     a letter of a script without blanks.
///   - A full stop ends none behind a single letter ("J. Smith"), letters with stops ("e.g.",
///     "U.S."), a title ("Dr."), a number at the sentence's begin ("1. Open"), and, where a number
///     follows, behind "No.", "p.", "Jan." and the like.
///   - Full stops of Chinese and Japanese end one at once.
///   - An empty line, U+2029 and a form feed end one. One line end is white space: text may be
///     wrapped.
/// In doubt a sentence goes on: for a text that is cut into parts, a place that is missed costs
/// less than a wrong one.
size_t sentence_end(std::string_view text, size_t i);

}  // namespace bert
