#include "pipeline/json_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"
#include "io/json_object.h"
#include "io/json_row.h"
#include "pipeline/columns.h"

namespace bert {
namespace {

std::string place_of(const Record& record) {
  return fmt::format("{}: record {}", *record.file, record.number_in_file);
}

JsonDocument parse_object(const Record& record) {
  if (record.body().empty()) record.fail(Error::Kind::data, "is empty, wants a JSON object");
  JsonDocument document = JsonDocument::parse_any_numbers(record.body(), place_of(record));
  if (document.root().is_object()) return document;
  record.fail(Error::Kind::data,
              fmt::format("found {}, wants a JSON object", document.root().describe()));
}

/// The member that `path` names: as one key, else its part up to a dot, and so on.
std::optional<Json> find_path(const Json& object, std::string_view path) {
  if (auto found = object.find(path)) return found;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    const auto inner = object.find(path.substr(0, dot));
    if (!inner || !inner->is_object()) continue;
    if (auto found = find_path(*inner, path.substr(dot + 1))) return found;
  }
  return {};
}

/// The bytes of the value that `path` names, which find_path has found.
std::string_view bytes_of(std::string_view object, std::string_view path) {
  const auto member = [&](std::string_view key) -> std::string_view {
    for (const JsonMember& m : json_members(object)) {
      if (m.key.substr(1, m.key.size() - 2) == key) return m.value;
    }
    return {};
  };
  if (const auto value = member(path); !value.empty()) return value;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
    const std::string_view inner = member(path.substr(0, dot));
    if (!inner.starts_with('{')) continue;
    if (const auto value = bytes_of(inner, path.substr(dot + 1)); !value.empty()) return value;
  }
  return {};
}

}  // namespace

JsonFields::JsonFields(const StreamOptions& options)
    : keys_(options.fields), texts_(options.texts) {
  if (keys_.empty()) keys_ = {"text", "text_pair"};
  if (options.fields.empty()) keys_.resize(texts_);
  const bool more = options.more_texts && keys_.size() > texts_;
  if (keys_.size() != texts_ && !more) {
    throw Error::of_field("fields", fmt::format("found {} keys, wants {}", keys_.size(), texts_));
  }
  for (const auto& [name, key] : options.extra_fields) keys_.push_back(key);
  check_extra(options, keys_.size() - texts_);
}

void JsonFields::choose(Record& record, std::deque<std::string>& decoded) const {
  const JsonDocument document = parse_object(record);
  const auto value_of = [&](const std::string& key, bool text) -> std::string_view {
    const auto value = find_path(document.root(), key);
    if (!value) record.fail(Error::Kind::data, fmt::format("has no key '{}'", printable(key)));
    if (value->is_string()) return decoded.emplace_back(value->as_string());
    if (!text) return bytes_of(record.body(), key);
    const Json::Type type = value->type();
    const bool number = type == Json::Type::number || type == Json::Type::integer;
    record.fail(Error::Kind::data,
                fmt::format("{}: found {}, wants a string", printable(key),
                            number ? printable(bytes_of(record.body(), key)) : value->describe()));
  };
  record.text = value_of(keys_[0], true);
  if (texts_ > 1) record.text_pair = value_of(keys_[1], true);
  for (size_t i = texts_; i < keys_.size(); ++i) {
    record.extra[i - texts_] = value_of(keys_[i], false);
  }
}

void JsonLinesWorker::run(std::span<const Record> records, Rows& rows) {
  Rows own(rows.terminator());
  worker_->run(records, own);
  counts_ = worker_->counts();
  size_t next = 0;
  std::string_view rest = own.bytes();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(rows.terminator()), rest.size());
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto number = to_number<uint64_t>(json_members(row).at(0).value);
    const auto number_of = [&](const Record& r) { return in_file_ ? r.number_in_file : r.number; };
    while (next < records.size() && number_of(records[next]) != number) ++next;
    if (next == records.size()) {
      throw Error(Error::Kind::internal, "", "a JSON row belongs to no record");
    }
    write(records[next], row, rows);
  }
}

void JsonLinesWorker::write(const Record& record, std::string_view row, Rows& rows) const {
  std::vector<JsonMember> added = json_members(row);
  const auto copies = [&](const JsonMember& member, std::string_view key, std::string_view text) {
    if (member.key != key) return false;
    std::string literal;
    append_json_string(literal, text);
    return member.value == literal;
  };
  std::erase_if(added, [&](const JsonMember& member) {
    return (!number_ && member.key == "\"record\"") || copies(member, "\"text\"", record.text) ||
           copies(member, "\"text_pair\"", record.text_pair);
  });
  append_with_members(rows.raw(), record.body(), added);
  rows.end();
}

void write_json_error(const Record& record, std::string_view error, bool number, Rows& rows) {
  std::string row;
  JsonRow json(row);
  json.object();
  if (number) json.count("record", record.number);
  json.text("error", error).end_object();
  try {
    parse_object(record);
    append_with_members(rows.raw(), record.body(), json_members(row));
  } catch (const Error&) {
    rows.raw() += row;
  }
  rows.end();
}

}  // namespace bert
