#pragma once

#include <string_view>

namespace bert {

/// A line of CoNLL columns. Tabs separate the columns, or blanks if the line has no tab.
struct ConllLine {
  std::string_view line;   ///< without blanks at its end
  std::string_view word;   ///< the first column; "" for an empty line and for -DOCSTART-
  std::string_view label;  ///< the last column; "" if there is only one
  char separator = '\t';
};

inline ConllLine parse_conll(std::string_view text) {
  ConllLine l;
  l.line = text.substr(0, text.find_last_not_of(" \t\r") + 1);
  l.separator = l.line.find('\t') == text.npos ? ' ' : '\t';
  const size_t first = l.line.find(l.separator), last = l.line.rfind(l.separator);
  if (!l.line.starts_with("-DOCSTART-")) l.word = l.line.substr(0, first);
  if (last != text.npos) l.label = l.line.substr(last + 1);
  return l;
}

}  // namespace bert
