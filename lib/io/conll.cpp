#include "io/conll.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace bert {
namespace {

bool is_separator(char c) { return c == ' ' || c == '\t'; }

/// How many parts of a text stand between single tabs.
size_t tab_fields(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\t')) + 1;
}

/// How many parts of a text stand between any number of blanks and tabs.
size_t blank_fields(std::string_view text) {
  size_t fields = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    fields += !is_separator(text[i]) && (i == 0 || is_separator(text[i - 1]));
  }
  return fields;
}

/// Whether a line begins with "# ", as that of a word "#" does too.
bool may_be_comment(const ConllLine& line) {
  return line.line.starts_with("# ") || line.line == "#";
}

bool looks_like(const ConllLine& line, const ConllLine& word) {
  return tab_fields(line.line) == tab_fields(word.line) &&
         blank_fields(line.line) == blank_fields(word.line);
}

}  // namespace

ConllLine parse_conll(std::string_view text) {
  ConllLine l;
  l.line = text.substr(0, text.find_last_not_of(" \t\r") + 1);
  l.separator = l.line.find('\t') == text.npos ? ' ' : '\t';
  const size_t first = l.line.find(l.separator), last = l.line.rfind(l.separator);
  if (l.has_word()) l.word = l.line.substr(0, first);
  if (last != text.npos) l.label = l.line.substr(last + 1);
  if (l.separator == '\t') {
    l.columns = tab_fields(l.line);
  } else {
    l.columns = blank_fields(l.line) + l.line.starts_with(' ');  // a word that is a blank
  }
  return l;
}

const ConllLine* sure_word(std::span<const ConllLine> lines) {
  for (const ConllLine& line : lines) {
    if (line.has_word() && !may_be_comment(line)) return &line;
  }
  return nullptr;
}

void check_sentence(std::span<ConllLine> lines, bool labelled,
                    const std::function<void(size_t, const std::string&)>& fail,
                    const ConllLine* word) {
  if (lines.empty()) return;
  if (!word) word = sure_word(lines);
  if (!word) word = &lines.back();  // all words are "#"
  bool before = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    ConllLine& line = lines[i];
    if (!line.has_word()) continue;
    line.comment = before && may_be_comment(line) && !looks_like(line, *word);
    if (line.comment) {
      line.word = line.label = {};
      continue;
    }
    before = false;
    if (labelled && line.columns < 2) fail(i, "has one column, wants a word and its label");
    if (line.columns == word->columns) continue;
    fail(i, fmt::format("has {} column{}, wants {}, as in '{}'", line.columns,
                        line.columns == 1 ? "" : "s", word->columns, printable(word->line)));
  }
}

}  // namespace bert
