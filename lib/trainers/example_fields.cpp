#include "trainers/example_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/json.h"
#include "trainers/example_records.h"

namespace bert {
namespace {

/// The field of the label: the given one, else the field after the texts.
std::string label_field(const ExampleOptions& options, const std::vector<std::string>& texts) {
  double last = 0;
  for (const std::string& field : texts) last = std::max(last, number_of(field).value_or(0));
  if (options.label_field.empty() && options.json_lines) return "label";
  if (options.label_field.empty()) {
    return std::to_string(std::max(options.texts, static_cast<size_t>(last)) + 1);
  }
  const auto number = number_of(options.label_field);
  for (const std::string& field : texts) {
    if (field != options.label_field && !(number && number == number_of(field))) continue;
    throw Error::of_field(
        "label_field",
        fmt::format("found {}, which is the field of a text: the label would be learned "
                    "from itself",
                    printable(field)));
  }
  return options.label_field;
}

std::vector<std::string> text_fields(const ExampleOptions& options) {
  if (!options.fields.empty()) return options.fields;
  std::vector<std::string> fields = {"1", "2"};
  if (options.json_lines) fields = {"text", "text_pair"};
  fields.resize(options.texts);
  return fields;
}

/// The labels of a JSON list, with commas between.
std::string labels_in(const Record& record, std::string_view list) {
  std::string labels;
  const JsonDocument document = JsonDocument::parse(list, "label");
  document.root().for_each_element([&](Json item) {
    if (!item.is_string() || item.as_string().find(',') != std::string_view::npos) {
      record.fail(
          Error::Kind::data,
          fmt::format("has a label that is {}, wants a string without commas", item.describe()));
    }
    labels += (labels.empty() ? "" : ",") + std::string(item.as_string());
  });
  return labels;
}

}  // namespace

ExampleFields::ExampleFields(const ExampleOptions& options)
    : kind_(options.kind),
      header_(options.has_header()),
      csv_(options.csv),
      label_follows_(options.kind != LabelKind::none && options.label_field.empty()) {
  StreamOptions stream;
  stream.texts = options.texts;
  stream.header = header_;
  stream.csv = options.csv;
  stream.fields = text_fields(options);
  if (kind_ != LabelKind::none) {
    stream.want_field("label_field", label_field(options, stream.fields));
  }
  if (options.json_lines) {
    keys_.emplace(stream);
  } else {
    columns_.emplace(stream);
  }
}

void ExampleFields::read_header(const Record& header) {
  columns_->read_header(header);
  if (label_follows_) columns_->put_behind_texts(0);  // whose places the names tell
}

void ExampleFields::choose(Record& record) {
  if (keys_) {
    choose_members(record);
  } else {
    choose_columns(record);
  }
}

void ExampleFields::choose_columns(Record& record) {
  decoded_.clear();
  try {
    columns_->choose(record, decoded_);
  } catch (const Error& error) {
    const std::string_view hint = csv_ ? "" : comma_hint(record.body());
    if (hint.empty() || record.number_in_file != 1) throw;
    throw Error(error.kind(), "", error.what() + std::string(hint));
  }
}

void ExampleFields::choose_members(Record& record) {
  decoded_.clear();
  keys_->choose(record, decoded_);
  std::string_view& label = record.extra[0];
  // A string was decoded; any other value is a part of the line.
  const bool inside =
      label.data() >= record.line.data() && label.data() < record.line.data() + record.line.size();
  if (kind_ == LabelKind::none || !inside) return;
  if (label == "null") record.fail(Error::Kind::data, "has no label");
  if (label.starts_with('[') && kind_ == LabelKind::several) {
    label = decoded_.emplace_back(labels_in(record, label));
  } else if (label.starts_with('[') || label.starts_with('{')) {
    record.fail(Error::Kind::data,
                fmt::format("has the label {}, wants a string or a number", printable(label)));
  }
}

}  // namespace bert
