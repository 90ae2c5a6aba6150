#include "pipeline/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"

namespace bert {
namespace {

/// The 1-based field number in `text`; 0 if it is not a number.
size_t field_number(const std::string& text) { return to_number<size_t>(text).value_or(0); }

}  // namespace

void check_extra(const StreamOptions& options, size_t count) {
  if (count <= Record::kExtra) return;
  throw Error::of_field("fields",
                        fmt::format("found {} fields, wants at most {}", options.texts + count,
                                    options.texts + Record::kExtra));
}

std::string_view comma_hint(std::string_view line) {
  const bool commas = line.find('\t') == line.npos && line.find(',') != line.npos;
  if (!commas) return "";
  return "; commas separate fields with `csv`";
}

Columns::Columns(const StreamOptions& options)
    : wanted_(options.fields),
      texts_(options.texts),
      whole_line_(options.fields.empty() && options.texts == 1),
      csv_(options.csv) {
  if (wanted_.empty() && !whole_line_) wanted_ = {"1", "2"};
  const bool more = options.more_texts && wanted_.size() > texts_;
  if (!whole_line_ && wanted_.size() != texts_ && !more) {
    throw Error::of_field("fields",
                          fmt::format("found {} fields, wants {}", wanted_.size(), texts_));
  }
  const auto add_index = [&](const std::string& name, const std::string& field) {
    const size_t number = field_number(field);
    if (number == 0 && !options.header) {
      throw Error::of_field(
          name, fmt::format("found '{}', wants a field number from 1 up (names need `header`)",
                            printable(field)));
    }
    index_.push_back(number - 1);
  };
  for (const std::string& field : wanted_) add_index("fields", field);
  for (const auto& [name, field] : options.extra_fields) {
    add_index(name, field);
    wanted_.push_back(field);
  }
  check_extra(options, index_.size() - (whole_line_ ? 0 : texts_));
}

std::vector<std::string_view> Columns::names_of(const Record& header,
                                                std::deque<std::string>& kept) const {
  if (csv_) return csv_fields(header, kept);
  std::vector<std::string_view> names;
  std::string_view rest = header.body();
  for (size_t tab; (tab = rest.find('\t')) != std::string_view::npos; rest.remove_prefix(tab + 1)) {
    names.push_back(rest.substr(0, tab));
  }
  names.push_back(rest);
  return names;
}

void Columns::read_header(const Record& header) {
  std::deque<std::string> kept;
  const std::vector<std::string_view> names = names_of(header, kept);
  const std::string_view hint = csv_ ? "" : comma_hint(header.body());
  // One column whose name has a comma is not plausible, and all of a CSV's line is no text.
  if (whole_line_ && !hint.empty()) {
    header.fail(Error::Kind::data, fmt::format("found one field, '{}'{}; field 1 takes it as it is",
                                               printable(header.body()), hint));
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    size_t found = names.size();
    for (size_t j = names.size(); j-- > 0;) {
      if (names[j] != wanted_[i]) continue;
      if (found < names.size()) {
        header.fail(Error::Kind::data,
                    fmt::format("found two columns '{}', wants one", printable(wanted_[i])));
      }
      found = j;
    }
    if (found < names.size()) {
      index_[i] = found;
    } else if (field_number(wanted_[i]) == 0) {
      header.fail(Error::Kind::data,
                  fmt::format("found '{}', wants a column '{}'{}", printable(header.body()),
                              printable(wanted_[i]), hint));
    } else if (index_[i] >= names.size()) {
      header.fail(Error::Kind::data,
                  fmt::format("found {} field{}, wants at least {}{}", names.size(),
                              names.size() == 1 ? "" : "s", index_[i] + 1, hint));
    }
  }
}

void Columns::put_behind_texts(size_t extra) {
  const auto texts = index_.begin() + static_cast<ptrdiff_t>(whole_line_ ? 0 : texts_);
  index_[static_cast<size_t>(texts - index_.begin()) + extra] =
      *std::max_element(index_.begin(), texts) + 1;
}

void Columns::choose_csv(Record& record, std::deque<std::string>& kept) const {
  const std::vector<std::string_view> fields = csv_fields(record, kept);
  if (whole_line_ && fields.size() > 1) {
    record.fail(Error::Kind::data,
                fmt::format("found {} fields; `fields` names the one of the text", fields.size()));
  }
  const auto field = [&](size_t index) { return csv_field(record, fields, index); };
  const size_t texts = whole_line_ ? 0 : texts_;
  record.text = field(whole_line_ ? 0 : index_[0]);
  if (texts > 1) record.text_pair = field(index_[1]);
  for (size_t i = texts; i < index_.size(); ++i) record.extra[i - texts] = field(index_[i]);
}

void Columns::choose(Record& record, std::deque<std::string>& kept) const {
  if (csv_) return choose_csv(record, kept);
  const size_t texts = whole_line_ ? 0 : texts_;
  record.text = whole_line_ ? record.body() : record.field(index_[0]);
  if (texts > 1) record.text_pair = record.field(index_[1]);
  for (size_t i = texts; i < index_.size(); ++i) record.extra[i - texts] = record.field(index_[i]);
}

}  // namespace bert
