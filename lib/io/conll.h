#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// A line of CoNLL columns. Tabs separate the columns, or blanks if the line has no tab.
struct ConllLine {
  std::string_view line;   ///< without blanks at its end
  std::string_view word;   ///< the first column; "" for an empty line, -DOCSTART- and a comment
  std::string_view label;  ///< the last column; "" if there is only one
  char separator = '\t';
  size_t columns = 0;
  bool comment = false;  ///< known of the lines of a whole sentence

  bool has_word() const { return !line.empty() && !comment && !line.starts_with("-DOCSTART-"); }
};

BERT_API ConllLine parse_conll(std::string_view text);

/// Marks the comments of a sentence: lines before its words that begin with "# " and have another
/// number of columns, or of fields between tabs, than a word has. Calls fail(line's index, what)
/// for a line with another number of columns than that word and, if the sentence is `labelled`, for
/// a word without a label. Lines of -DOCSTART- may have any number of columns.
///   word   a line of the file that surely is a word; none: the sentence's own first one
BERT_API void check_sentence(std::span<ConllLine> lines, bool labelled,
                             const std::function<void(size_t, const std::string&)>& fail,
                             const ConllLine* word = nullptr);

/// The first line that has a word and cannot be a comment; nullptr: there is none.
BERT_API const ConllLine* sure_word(std::span<const ConllLine> lines);

}  // namespace bert
