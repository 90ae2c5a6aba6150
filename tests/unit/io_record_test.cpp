#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "io/record.h"
#include "io/record_reader.h"
#include "io/rows.h"
#include "temporary.h"

namespace bert {
namespace {

using test::TemporaryFile;

std::vector<std::vector<std::string>> chunks(const std::string& content, size_t records,
                                             size_t bytes, Framing framing = Framing::lines,
                                             size_t sharers = 1) {
  const TemporaryFile file(content);
  RecordReader reader(
      {file.path()}, '\n', [](const Error& error) { throw error; }, framing);
  std::vector<std::vector<std::string>> all;
  Chunk chunk;
  uint64_t expected = 1;
  while (reader.next(
      chunk, records, bytes, [] { return Busy::none; }, sharers)) {
    CHECK(chunk.first_number == expected);
    CHECK(chunk.first_of_file() == all.empty());
    CHECK(!chunk.lines.empty());
    expected += chunk.lines.size();
    all.emplace_back(chunk.lines.begin(), chunk.lines.end());
  }
  return all;
}

TEST_CASE("RecordReader: chunks close on records or bytes") {
  using Chunks = std::vector<std::vector<std::string>>;
  CHECK(chunks("", 2, 100) == Chunks{});
  CHECK(chunks("\n", 2, 100) == Chunks{{""}});
  CHECK(chunks("a\nb\nc", 2, 100) == Chunks{{"a", "b"}, {"c"}});
  CHECK(chunks("a\nb\nc\n", 2, 100) == Chunks{{"a", "b"}, {"c"}});
  CHECK(chunks("aaaa\nb\nc\n", 9, 5) == Chunks{{"aaaa"}, {"b", "c"}});
  CHECK(chunks("a\r\n\r\n", 9, 100) == Chunks{{"a\r", "\r"}});
  CHECK(chunks("one long line", 9, 4) == Chunks{{"one long line"}});
}

TEST_CASE("RecordReader: a byte order mark at the start of a file is dropped") {
  using Chunks = std::vector<std::vector<std::string>>;
  const std::string mark = "\xEF\xBB\xBF";
  CHECK(chunks(mark, 2, 100) == Chunks{});
  CHECK(chunks(mark + "\n", 2, 100) == Chunks{{""}});
  CHECK(chunks(mark + "a\nb", 9, 100) == Chunks{{"a", "b"}});
  CHECK(chunks(mark + mark + "a\n" + mark + "b\n", 9, 100) == Chunks{{mark + "a", mark + "b"}});
  CHECK(chunks("\xEF\xBB", 2, 100) == Chunks{{"\xEF\xBB"}});
  CHECK(chunks("\xEF\n\xBB\xBF", 9, 100) == Chunks{{"\xEF", "\xBB\xBF"}});
  CHECK(chunks(mark + "a\nb\n\nc\n", 9, 100, Framing::paragraphs) == Chunks{{"a\nb\n", "c\n"}});
}

TEST_CASE("RecordReader: chunks get smaller towards the end, where it is known and shared") {
  const auto sizes = [](size_t lines, size_t sharers) {
    std::string content;
    for (size_t i = 0; i < lines; ++i) content += std::string(99, 'x') + "\n";
    std::vector<size_t> records;
    for (const auto& chunk : chunks(content, 1000, 16 << 10, Framing::lines, sharers)) {
      records.push_back(chunk.size());
    }
    return records;
  };
  CHECK(sizes(40, 2) == std::vector<size_t>{40});  // too short to be shared
  CHECK(sizes(160, 1) == std::vector<size_t>{160});
  CHECK(sizes(1000, 1) == std::vector<size_t>{164, 164, 164, 164, 164, 164, 16});
  CHECK(sizes(80, 2) == std::vector<size_t>{20, 15, 12, 11, 11, 11});
  const auto shared = sizes(1000, 2);
  CHECK(shared.front() == 164);
  CHECK(std::is_sorted(shared.rbegin(), shared.rend() - 1));
  CHECK(shared.back() <= 11);
  CHECK(std::accumulate(shared.begin(), shared.end(), size_t{0}) == 1000);
}

TEST_CASE("RecordReader: paragraphs") {
  using Chunks = std::vector<std::vector<std::string>>;
  const auto paragraphs = [](const std::string& content, size_t records = 9, size_t bytes = 100) {
    return chunks(content, records, bytes, Framing::paragraphs);
  };
  CHECK(paragraphs("") == Chunks{});
  CHECK(paragraphs("\n \n\r\n") == Chunks{});
  CHECK(paragraphs("a\nb\n\nc\n") == Chunks{{"a\nb\n", "c\n"}});
  CHECK(paragraphs("\n\na\r\n \t\r\n\n\nb\n\n\n") == Chunks{{"\n\na\r\n \t\r", "\n\nb\n"}});
  CHECK(paragraphs("a\n\nb\n\nc", 2) == Chunks{{"a\n", "b\n"}, {"c"}});
  CHECK(paragraphs("a\n\nb\n\nc\n\n", 9, 1) == Chunks{{"a\n"}, {"b\n"}, {"c\n"}});
  // Over read boundaries.
  std::string content, got;
  for (size_t i = 0; i < 3000; ++i) content += std::string(i % 97 + 1, 'x') + "\ny\n\n";
  for (const auto& chunk : paragraphs(content, 7, 16 << 10)) {
    for (const std::string& record : chunk) got += record + "\n";
  }
  CHECK(got == content);
}

TEST_CASE("RecordReader: every split of records over read boundaries") {
  // Records of all lengths around the size of a read.
  std::string content;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 40; ++i) {
    const std::string line((64 << 10) - 20 + i, static_cast<char>('a' + i % 26));
    expected.push_back(line);
    content += line + "\n";
    expected.emplace_back(i, 'z');
    content += expected.back() + "\n";
  }
  for (const size_t bytes : {size_t{1}, size_t{16} << 10, size_t{1} << 20}) {
    std::vector<std::string> got;
    for (const auto& chunk : chunks(content, 3, bytes))
      got.insert(got.end(), chunk.begin(), chunk.end());
    CHECK(got == expected);
  }
}

TEST_CASE("Record: fields of the body") {
  Record record{.line = "a\t\tc\r", .number = 9, .number_in_file = 7};
  CHECK(record.body() == "a\t\tc");
  CHECK(record.field(0) == "a");
  CHECK(record.field(1) == "");
  CHECK(record.field(2) == "c");
  CHECK_THROWS_WITH_AS(record.field(3), "-: record 7: found 3 fields, wants at least 4", Error);
  record.crlf = false;
  CHECK(record.field(2) == "c\r");
}

TEST_CASE("Rows: separators, numbers, unfinished rows") {
  Rows rows;
  rows.field("a").field(3).field(0.1f).number(1.0 / 3).end();
  rows.end();
  rows.field("").field("").end();
  CHECK(rows.bytes() == "a\t3\t0.1\t0.333333\n\n\t\n");
  rows.clear();
  rows.field(-std::numeric_limits<float>::quiet_NaN())
      .number(-std::numeric_limits<double>::infinity());
  rows.field(std::numeric_limits<float>::denorm_min()).field(1e20f).field(-0.0f).end();
  CHECK(rows.bytes() == "nan\t-inf\t1e-45\t1e+20\t-0\n");
  rows.field("half").field("row");
  rows.drop_unfinished();
  CHECK(rows.bytes() == "nan\t-inf\t1e-45\t1e+20\t-0\n");
  rows.field("x").end();
  CHECK(rows.bytes().ends_with("-0\nx\n"));
  Rows nul('\0');
  nul.field("a").end();
  CHECK(nul.bytes() == std::string("a\0", 2));
}

TEST_CASE("Rows: every float reads back") {
  Rows rows;
  for (uint32_t bits = 1; bits < 0xFF800000u; bits += 7919111) {
    float value, back;
    std::memcpy(&value, &bits, 4);
    if (value != value) continue;
    rows.clear();
    rows.field(value).end();
    back = std::strtof(rows.bytes().c_str(), nullptr);
    CHECK(std::memcmp(&value, &back, 4) == 0);
  }
}

}  // namespace
}  // namespace bert
