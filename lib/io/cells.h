#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/json_row.h"
#include "io/rows.h"

namespace bert {

/// The cells of a row, said once: the same calls write fields of TSV, or members of a JSON object,
/// or list the names of the columns, which --header prints.
///
///   struct AnswerRow {
///     std::string_view answer;
///     double score = 0;
///     void cells(Cells& c) const { c.text("answer", answer).number("score", score); }
///   };
///
/// What only one of the two has is written by fields() or members().
class BERT_API Cells {
 public:
  /// Fields of the row, or, with `json`, members of the object, that was begun in `rows`.
  Cells(Rows& rows, bool json)
      : fields_(json ? nullptr : &rows), members_(json ? &rows : nullptr) {}
  /// Names alone, appended to `names`.
  explicit Cells(std::vector<std::string>& names) : names_(&names) {}

  /// The fields of the row; nullptr where only names are listed, or JSON is written.
  Rows* fields() { return fields_; }
  /// The members of the object, if JSON is written.
  std::optional<JsonRow> members() {
    return members_ ? std::optional<JsonRow>(members_->raw()) : std::nullopt;
  }

  // Fields, of which there may be millions, are written here, members and names elsewhere.
  Cells& text(std::string_view name, std::string_view value) {
    return fields_ ? fields_->field(value), *this : other_text(name, value);
  }
  /// A piece of the input: a tab in it is a blank in TSV, where a field has none.
  Cells& passage(std::string_view name, std::string_view value);
  Cells& count(std::string_view name, std::integral auto value) {
    return fields_ ? fields_->field(value), *this : other_count(name, static_cast<int64_t>(value));
  }
  /// Six significant digits: a probability, a score of one.
  Cells& number(std::string_view name, double value) {
    return fields_ ? fields_->number(value), *this : other_digits(name, value, 6);
  }
  /// Nine significant digits: a sum of log-probabilities.
  Cells& sum(std::string_view name, double value) {
    return fields_ ? fields_->sum(value), *this : other_digits(name, value, 9);
  }
  /// The shortest form that is read back as the same float.
  Cells& exact(std::string_view name, float value) {
    return fields_ ? fields_->field(value), *this : other_exact(name, value);
  }
  /// Many of them: in JSON a list, in TSV a field each, with the names v1, v2 ...
  Cells& vector(std::string_view name, std::span<const float> values);

 private:
  Cells& other_text(std::string_view name, std::string_view value);
  Cells& other_count(std::string_view name, int64_t value);
  Cells& other_digits(std::string_view name, double value, int significant);
  Cells& other_exact(std::string_view name, float value);

  Rows* fields_ = nullptr;  ///< the row, where fields are written; one of three is there
  Rows* members_ = nullptr;
  std::vector<std::string>* names_ = nullptr;
};

/// The members of an object of JSON that describes itself: it is an element of a list, or a row.
template <typename Row>
void add_object(Rows& rows, const Row& row) {
  JsonRow(rows.raw()).object();
  Cells cells(rows, true);
  row.cells(cells);
  JsonRow(rows.raw()).end_object();
}

/// A list of such objects.
template <typename List>
void add_list(Rows& rows, std::string_view name, const List& list) {
  JsonRow(rows.raw()).list(name);
  for (const auto& row : list) add_object(rows, row);
  JsonRow(rows.raw()).end_list();
}

/// A row alone, without a record around it.
template <typename Row>
void add_row(Rows& rows, bool json, const Row& row) {
  if (json) {
    add_object(rows, row);
  } else {
    Cells cells(rows, false);
    row.cells(cells);
  }
  rows.end();
}

/// The names of the columns of rows of this kind.
template <typename Row>
std::vector<std::string> names_of(const Row& row = {}) {
  std::vector<std::string> names;
  Cells cells(names);
  row.cells(cells);
  return names;
}

}  // namespace bert
