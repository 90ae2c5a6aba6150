// Records of CSV that come in pieces, their fields, and fields that are written.

#include <doctest/doctest.h>

#include "io/csv.h"
#include "io/record_reader.h"
#include "temporary.h"

namespace bert {
namespace {

std::vector<std::string> fields(std::string_view line) {
  const std::string name = "f";
  Record record{.line = line, .number = 3, .number_in_file = 3, .file = &name};
  std::deque<std::string> kept;
  std::vector<std::string> all;
  for (const std::string_view field : csv_fields(record, kept)) all.emplace_back(field);
  return all;
}

std::string fault(std::string_view line) {
  try {
    fields(line);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("CSV: fields") {
  using List = std::vector<std::string>;
  CHECK(fields("a,b,,c") == List{"a", "b", "", "c"});
  CHECK(fields("") == List{""});
  CHECK(fields(",") == List{"", ""});
  CHECK(fields("\"a,b\",\"c\nd\",\"\"\r") == List{"a,b", "c\nd", ""});
  CHECK(fields("\"say \"\"no\"\"\",\"\"\"\"") == List{"say \"no\"", "\""});
  CHECK(fields("5\" pipe,a\"b\"") == List{"5\" pipe", "a\"b\""});
  CHECK(fault("a,\"b") == "f: record 3: field 2 begins with a quote and has no end");
  CHECK(fault("\"a\"b,c") == "f: record 3: field 1 has a text behind its quotes");
}

TEST_CASE("CSV: what is written is read back") {
  for (const char* text : {"", "a", "a,b", "\"", "a\nb", "a\r", "a\"b", " "}) {
    std::string out;
    append_csv(out, text);
    CHECK(fields(out + ",x") == std::vector<std::string>{text, "x"});
  }
}

TEST_CASE("CSV: records end outside quotes, wherever the pieces end") {
  const std::string text = "a,\"b\nc\"\n\"d\"\"\n\",e\nf\"\ng\n\"h\"\r\n";
  const std::vector<std::string> wanted = {"a,\"b\nc\"", "\"d\"\"\n\",e", "f\"", "g", "\"h\"\r"};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    CsvScanner scanner;
    std::vector<std::string> records;
    std::string bytes;
    size_t searched = 0;
    for (size_t at = 0; at < text.size(); at += piece) {
      bytes += text.substr(at, piece);
      for (size_t end; (end = scanner.find_end(bytes, searched)) != bytes.npos;) {
        records.push_back(bytes.substr(0, end));
        bytes.erase(0, end + 1);
        searched = 0;
      }
      searched = bytes.size();
    }
    CHECK(records == wanted);
  }
  const test::TemporaryFile file("\xEF\xBB\xBF" + text);
  RecordReader reader({file.path()}, '\n', {}, Framing::csv, Wanted::csv);
  Chunk chunk;
  REQUIRE(reader.next(chunk, 100, 1 << 16, [] { return Busy::none; }));
  CHECK(std::vector<std::string>(chunk.lines.begin(), chunk.lines.end()) == wanted);
}

}  // namespace bert
