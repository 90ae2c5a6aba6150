#include "io/input_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/csv_shape.h"
#include "io/file_kind.h"
#include "io/json_syntax.h"

namespace bert {
namespace {

struct Found {
  std::string_view name;
  std::string remedy = {};  ///< may be ""
  explicit operator bool() const { return !name.empty(); }
};

/// The first record that is not empty.
std::string_view first_record(const InputStart& start) {
  std::string_view bytes = start.bytes;
  bytes.remove_prefix(std::min(bytes.find_first_not_of(start.terminator), bytes.size()));
  return bytes.substr(0, bytes.find(start.terminator));
}

/// Finds what is no text at all. Of files that nobody named, a NUL in the first block tells enough,
/// as it does for grep.
Found find_binary(const InputStart& start, Wanted wanted) {
  constexpr size_t kBlock = 4096;
  const bool nuls = start.terminator == '\0';
  if (const FileKind* const kind = foreign_kind(start.bytes, nuls)) {
    return {kind->name, std::string(kind->remedy)};
  }
  const std::string_view looked_at =
      wanted == Wanted::any_text ? start.bytes.substr(0, kBlock) : first_record(start);
  if (!nuls && looked_at.find('\0') != std::string_view::npos) {
    return {"binary data, with NUL bytes", ""};
  }
  return {};
}

/// Whether all of the record is an object, or the list of objects, that `begin` begins.
bool is_json(std::string_view record, std::string_view begin) {
  constexpr std::string_view kBlanks = " \t\r\n";
  size_t at = 0;
  for (const char c : begin) {
    at = record.find_first_not_of(kBlanks, at);
    if (at == record.npos || record[at++] != c) return false;
  }
  return !find_json_fault(record, SIZE_MAX);
}

/// Whether a bracket stands alone in the first line, and JSON goes on in the next.
bool begins_json(std::string_view bytes, std::string_view first) {
  const size_t at = first.find_first_not_of(" \t\r");
  if (at == first.npos || first.find_first_not_of(" \t\r", at + 1) != first.npos) return false;
  if (first[at] != '[' && first[at] != '{') return false;
  const size_t next = bytes.find_first_not_of(" \t\r\n", std::min(first.size(), bytes.size()));
  const char c = next == bytes.npos ? ' ' : bytes[next];
  return c == '"' || (first[at] == '[' && c == '{');
}

Found find_json(const InputStart& start, Wanted wanted) {
  const std::string_view record = first_record(start);
  if (is_json(record, "[{\"")) {
    return {"a JSON list of objects", "jq -c '.[]' FILE makes JSON lines of it"};
  }
  if (begins_json(start.bytes, record)) {
    return {"JSON over several lines",
            "jq -c . FILE, or jq -c '.[]' of a list, makes JSON lines of it"};
  }
  if (!is_json(record, "{\"")) return {};
  return {"JSON", wanted == Wanted::text_or_objects ? "`json_lines` reads JSON lines"
                                                    : "jq makes fields of it, see bert-tsv(5)"};
}

/// Without and with a header, which goes.
constexpr const char* kOfCommas[] = {
    "mlr --icsv --onidx --ofs tab -N cat FILE makes fields of it",
    "mlr --icsv --onidx --ofs tab cat FILE makes fields of it",
};
constexpr const char* kOfSemicolons[] = {
    "mlr --icsv --onidx --ofs tab -N --ifs semicolon cat FILE makes fields of it",
    "mlr --icsv --onidx --ofs tab --ifs semicolon cat FILE makes fields of it",
};

/// The same by options.
constexpr const char* kByOptions[] = {
    "`csv` reads it, with `no_header` if its first record names no fields", "`csv` reads it"};

Found find_csv(const InputStart& start, Wanted wanted) {
  if (start.terminator != '\n') return {};
  for (const char separator : {',', ';'}) {
    const CsvShape shape = csv_shape(start.bytes, separator, start.whole);
    if (shape == CsvShape::none) continue;
    const bool header = shape == CsvShape::header;
    if (separator == ',') {
      return {"CSV", (wanted == Wanted::text_or_objects ? kByOptions : kOfCommas)[header]};
    }
    return {"CSV with semicolons", kOfSemicolons[header]};
  }
  return {};
}

Found find_foreign(const InputStart& start, Wanted wanted) {
  if (wanted == Wanted::anything) return {};
  if (const Found binary = find_binary(start, wanted)) return binary;
  if (wanted == Wanted::objects || wanted == Wanted::csv || wanted == Wanted::any_text) return {};
  const Found json = wanted == Wanted::either ? Found{} : find_json(start, wanted);
  if (json) return json;
  return find_csv(start, wanted);
}

std::string_view name_of(Wanted wanted) {
  switch (wanted) {
    case Wanted::objects:
      return "JSON lines";
    case Wanted::csv:
      return "CSV";
    case Wanted::lines:
      return "lines of text";
    default:
      return "text";
  }
}

}  // namespace

std::string refuse_input(const InputStart& start, Wanted wanted) {
  const Found found = find_foreign(start, wanted);
  if (!found) return "";
  const bool text = wanted != Wanted::lines && wanted != Wanted::objects && wanted != Wanted::csv;
  return fmt::format("looks like {}, wants {}{}{}{}", found.name, name_of(wanted),
                     found.remedy.empty() ? "" : "; ", found.remedy,
                     text ? "; `as_text` takes it as it is" : "");
}

}  // namespace bert
