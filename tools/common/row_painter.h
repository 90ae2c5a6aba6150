#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bert::tools {

/// --color. none: the tool has no colours.
enum class ColorWhen { none, never, automatic, always };

/// Whether rows are painted: on a terminal, unless NO_COLOR is set (no-color.org) or it is dumb.
bool wants_color(ColorWhen when);

/// Colours of rows of fields, those of grep: file, record, score, label, and what was found, also
/// in the text behind it. Bytes that a terminal would obey are escaped first.
class RowPainter {
 public:
  /// `columns`: the names of the first fields of a row; the input line follows them.
  explicit RowPainter(const std::vector<std::string>& columns);
  /// `rows`: whole ones.
  std::string paint(std::string_view rows) const;

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Match {
    std::string_view text = {};
    size_t start = 0;  ///< where it begins, unless bytes before it were escaped
  };
  Match paint_row(std::string_view row, const Match& before, std::string& out) const;
  static void paint_match(std::string_view text, const Match& match, std::string& out);

  std::vector<std::string_view> colors_;                  ///< [columns], "" of those without
  size_t match_ = kNone, start_ = kNone, score_ = kNone;  ///< columns of what was found
};

}  // namespace bert::tools
