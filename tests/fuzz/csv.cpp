// CSV against a plain reader that goes byte by byte (RFC 4180), whatever the pieces in which the
// bytes come; and the readers of columns, numbers and judgments.
#include "io/csv.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/conll.h"
#include "io/csv_shape.h"
#include "io/number_lines.h"
#include "io/record.h"
#include "io/text_encoding.h"

using namespace bert;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// Where the first record ends; npos: nowhere.
size_t plain_end(std::string_view text) {
  bool in_quotes = false, begins = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes) {
      if (c != '"') continue;
      if (i + 1 < text.size() && text[i + 1] == '"') {
        ++i;
      } else {
        in_quotes = false;
      }
      continue;
    }
    if (c == '\n') return i;
    in_quotes = c == '"' && begins;
    begins = c == ',';
  }
  return std::string_view::npos;
}

/// The fields of one record; nullopt: something stands behind a quote that ends a field, or the
/// last field in quotes has no end.
std::optional<std::vector<std::string>> plain_fields(std::string_view text) {
  std::vector<std::string> fields;
  for (size_t i = 0;;) {
    std::string field;
    if (i < text.size() && text[i] == '"') {
      for (++i;; ++i) {
        if (i == text.size()) return std::nullopt;
        if (text[i] == '"' && (i + 1 == text.size() || text[i + 1] != '"')) break;
        if (text[i] == '"') ++i;
        field += text[i];
      }
      ++i;
      if (i < text.size() && text[i] != ',') return std::nullopt;
    } else {
      while (i < text.size() && text[i] != ',') field += text[i++];
    }
    fields.push_back(std::move(field));
    if (i == text.size()) return fields;
    ++i;
  }
}

std::optional<std::vector<std::string>> fields_of(std::string_view line) {
  const std::string file = "fuzz";
  Record record;
  record.line = line;
  record.file = &file;
  record.number = record.number_in_file = 1;
  record.crlf = false;
  std::deque<std::string> kept;
  try {
    const std::vector<std::string_view> fields = csv_fields(record, kept);
    return std::vector<std::string>(fields.begin(), fields.end());
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::data);
    return std::nullopt;
  }
}

void try_record(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto fields = fields_of(line);
  require(fields == plain_fields(line));
  if (!fields) return;
  std::string again;
  for (const std::string& field : *fields) {
    if (&field != fields->data()) again += ',';
    append_csv(again, field);
  }
  require(fields_of(again) == fields);
}

void try_csv(std::string_view text, size_t piece) {
  while (!text.empty()) {
    const size_t wanted = plain_end(text);
    CsvScanner whole, pieces;
    require(whole.find_end(text, 0) == wanted);
    size_t found = std::string_view::npos;
    for (size_t begin = 0; begin < text.size() && found == std::string_view::npos; begin += piece) {
      found = pieces.find_end(text.substr(0, begin + piece), begin);
    }
    require(found == wanted);
    try_record(text.substr(0, wanted));
    if (wanted == std::string_view::npos) return;
    text.remove_prefix(wanted + 1);
  }
}

void try_lines(std::string_view text) {
  std::vector<ConllLine> lines;
  std::vector<float> numbers;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(end, text.size() - 1) + 1)) {
    end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    lines.push_back(parse_conll(line));
    try {
      read_numbers(line, numbers);
    } catch (const Error& error) {
      require(error.kind() == Error::Kind::data);
    }
  }
  try {
    check_sentence(lines, true, [](size_t, const std::string& what) {
      throw Error(Error::Kind::data, "fuzz", what);
    });
  } catch (const Error&) {
  }
  sure_word(lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1),
                              std::min<size_t>(size - 1, 3000));
  try_csv(text, 1 + data[0] % 7);
  try_lines(text);
  for (const char separator : {',', ';', '\t'}) {
    csv_shape(text, separator, true);
    csv_shape(text, separator, false);
  }
  is_utf16_le(text);
  is_utf16_be(text);
  is_utf32_le(text);
  is_utf32_be(text);
  return 0;
}
