#include "io/csv_shape.h"

#include <algorithm>
#include <string>
#include <vector>

namespace bert {
namespace {

constexpr size_t kLeastRecords = 3, kMostRecords = 20;

struct Field {
  std::string_view text;
  bool quoted;
};
using Fields = std::vector<Field>;

/// Takes records from the start of a text.
class Cutter {
 public:
  Cutter(std::string_view text, char separator, bool whole)
      : text_(text), separator_(separator), whole_(whole) {}

  enum class Took { record, end, no_csv };

  Took take(Fields& fields) {
    fields.clear();
    if (at_ == text_.size()) return Took::end;
    for (;;) {
      const Took took = take_field(fields);
      if (took != Took::record) return took;
      if (at_ == text_.size()) return whole_ ? Took::record : Took::end;
      const char c = text_[at_++];
      if (c == '\n') return Took::record;
    }
  }

 private:
  /// Leaves the position at the separator, the line feed or the end.
  Took take_field(Fields& fields) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    const size_t begin = at_ + (quoted ? 1 : 0);
    size_t end = begin;
    if (quoted) {
      for (end = text_.find('"', begin); end != text_.npos && text_.substr(end, 2) == "\"\"";) {
        end = text_.find('"', end + 2);
      }
      if (end == text_.npos) return whole_ ? Took::no_csv : Took::end;
      at_ = end + 1;
    } else {
      const char stops[] = {separator_, '\n', '"', '\t'};
      end = at_ = std::min(text_.find_first_of({stops, 4}, begin), text_.size());
    }
    if (text_.substr(at_).starts_with("\r\n")) ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') return Took::no_csv;
    Field field{text_.substr(begin, end - begin), quoted};
    if (!quoted && field.text.ends_with('\r')) field.text.remove_suffix(1);
    // The comma of prose has a blank behind it.
    if (!quoted && !fields.empty() && field.text.starts_with(' ')) return Took::no_csv;
    fields.push_back(field);
    return Took::record;
  }

  std::string_view text_;
  char separator_;
  bool whole_;
  size_t at_ = 0;
};

bool is_name(const Field& field) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  const std::string_view text = field.text;
  return !text.empty() && text.size() <= 40 && kLetters.find(text[0]) != text.npos &&
         text.find_first_not_of(std::string(kLetters) + "0123456789.-") == text.npos;
}

/// A name that columns of texts and labels often have.
bool is_usual_name(std::string_view name) {
  constexpr std::string_view kUsual[] = {
      "id",       "text",   "label",   "labels",   "sentence",   "sentence1", "sentence2",
      "title",    "review", "content", "body",     "comment",    "question",  "answer",
      "context",  "query",  "premise", "category", "hypothesis", "sentiment", "class",
      "target",   "score",  "rating",  "word",     "tag",        "summary",   "description",
      "language", "url",    "date",    "author",   "message",    "tweet",     "index"};
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(std::begin(kUsual), std::end(kUsual), lower) != std::end(kUsual);
}

bool is_number(const Field& field) {
  return !field.text.empty() && field.text.find_first_not_of("-.0123456789") == field.text.npos;
}

/// Whether the first record names what the others hold: one of the names is usual, or a column
/// below a name is of numbers.
bool has_header(const std::vector<Fields>& records) {
  const Fields& names = records[0];
  if (!std::all_of(names.begin(), names.end(), is_name)) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_usual_name(names[i].text)) return true;
    const auto number = [i](const Fields& fields) { return is_number(fields[i]); };
    if (std::all_of(records.begin() + 1, records.end(), number)) return true;
  }
  return false;
}

bool has_quotes(const std::vector<Fields>& records) {
  return std::any_of(records.begin(), records.end(), [](const Fields& fields) {
    return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.quoted; });
  });
}

}  // namespace

CsvShape csv_shape(std::string_view text, char separator, bool whole) {
  Cutter cutter(text, separator, whole);
  std::vector<Fields> records;
  Fields fields;
  for (auto took = Cutter::Took::record; records.size() < kMostRecords;) {
    took = cutter.take(fields);
    if (took == Cutter::Took::no_csv) return CsvShape::none;
    if (took == Cutter::Took::end) break;
    if (fields.size() < 2 || fields.size() != (records.empty() ? fields : records[0]).size()) {
      return CsvShape::none;
    }
    records.push_back(fields);
  }
  if (records.size() < kLeastRecords) return CsvShape::none;
  if (has_header(records)) return CsvShape::header;
  return has_quotes(records) ? CsvShape::bare : CsvShape::none;
}

}  // namespace bert
