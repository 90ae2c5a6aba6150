#include "common/row_painter.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/parse.h"

namespace bert::tools {
namespace {

constexpr std::string_view kMatch = "1;31", kReset = "\x1b[m";

struct ColumnColor {
  std::string_view begin, color;  ///< columns whose names begin so have it
};
constexpr ColumnColor kColors[] = {
    {"file", "35"},        {"record", "32"}, {"neighbour", "32"}, {"score", "36"},
    {"probability", "36"}, {"label", "1"},   {"type", "1"},       {"answer", kMatch},
};

void put(std::string_view text, std::string_view color, std::string& out) {
  if (color.empty() || text.empty()) {
    out += text;
    return;
  }
  out.append("\x1b[").append(color).append("m").append(text).append(kReset);
}

}  // namespace

bool wants_color(ColorWhen when) {
  if (when != ColorWhen::automatic) return when == ColorWhen::always;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  return isatty(STDOUT_FILENO) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

RowPainter::RowPainter(const std::vector<std::string>& columns) {
  const auto start = std::find(columns.begin(), columns.end(), "start");
  if (start != columns.end()) start_ = static_cast<size_t>(start - columns.begin());
  for (size_t i = 0; i < columns.size(); ++i) {
    std::string_view color;
    for (const ColumnColor& c : kColors) {
      if (columns[i].starts_with(c.begin)) color = c.color;
    }
    if (start_ != kNone && (columns[i] == "text" || columns[i] == "answer")) {
      match_ = i;
      color = kMatch;
    }
    if (columns[i] == "score") score_ = i;
    colors_.push_back(color);
  }
}

std::string RowPainter::paint(std::string_view rows) const {
  const std::string shown = printable_lines(rows);
  std::string out;
  Match match;
  for (std::string_view rest = shown; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    match = paint_row(rest.substr(0, end), match, out);
    if (end < rest.size()) out += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

/// Returns what was found. A row without a score is of the context; the first has the text in which
/// `before` was found.
RowPainter::Match RowPainter::paint_row(std::string_view row, const Match& before,
                                        std::string& out) const {
  const std::vector<std::string_view> fields = split(row, '\t');
  const bool context = score_ < fields.size() && fields[score_].empty();
  Match match;
  if (!context && match_ < fields.size())
    match = {fields[match_], to_number<size_t>(fields[start_]).value_or(0)};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += '\t';
    if (context ? i + 1 == fields.size() : i >= colors_.size()) {
      paint_match(fields[i], context ? before : match, out);
    } else {
      put(fields[i], colors_[i], out);
    }
  }
  return match;
}

void RowPainter::paint_match(std::string_view text, const Match& match, std::string& out) {
  const bool there = match.start < text.size() && text.substr(match.start).starts_with(match.text);
  const size_t at = there ? match.start : text.find(match.text);
  if (match.text.empty() || at == text.npos) {
    out += text;
    return;
  }
  out += text.substr(0, at);
  put(match.text, kMatch, out);
  out += text.substr(at + match.text.size());
}

}  // namespace bert::tools
