#include <doctest/doctest.h>

#include <string>

#include "io/input_kind.h"
#include "io/record_reader.h"
#include "temporary.h"

using namespace bert;
using namespace std::string_literals;

namespace {

/// What the message calls the input; "" if it is taken.
std::string kind_of(const std::string& bytes, Wanted wanted = Wanted::text,
                    char terminator = '\n') {
  const std::string message = refuse_input({bytes, terminator, true}, wanted);
  if (message.empty()) return "";
  CHECK(message.starts_with("looks like "));
  return message.substr(11, message.find(", wants ") - 11);
}

/// The text in UTF-16, as `order` says: "le" or "be".
std::string utf16(std::u16string_view text, std::string_view order) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    bytes += order == "le" ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

}  // namespace

TEST_CASE("Input: binary files by their first bytes") {
  const std::pair<std::string, std::string> kinds[] = {
      {"\x1F\x8B\x08\0abc"s, "a gzip file"},
      {"\x28\xB5\x2F\xFD$"s, "a zstd file"},
      {"\xFD\x37zXZ\0\0"s, "an xz file"},
      {"BZh91AY&SY..", "a bzip2 file"},
      {"PK\x03\x04"s, "a zip archive"},
      {"\x7F"
       "ELF\x02\x01\x01\0"s,
       "a program (ELF)"},
      {"%PDF-1.7\n%", "a PDF"},
      {"\x89PNG\r\n\x1A\n"s, "a picture (PNG)"},
      {"\xFF\xD8\xFF\xE0"s, "a picture (JPEG)"},
      {"PAR1\x15\x04"s, "a Parquet file"},
      {"ARROW1\0\0"s, "an Arrow file"},
      {"SQLite format 3\0\x10"s, "an SQLite database"},
      {"\x93NUMPY\x01\0v\0{'descr'"s, "an npy file"},
      {"\x40\0\0\0\0\0\0\0{\"__metadata__\""s, "a safetensors file"},
      {"version https://git-lfs.github.com/spec/v1\n", "a git-lfs pointer, not the file itself"},
      {"a line\0 of some bytes\n"s, "binary data, with NUL bytes"},
  };
  for (const auto& [bytes, name] : kinds) {
    CHECK(kind_of(bytes) == name);
    CHECK(kind_of(bytes, Wanted::objects) == name);
    CHECK(kind_of(bytes, Wanted::anything) == "");
  }
  for (const char* text : {"PAR1 is a receptor\n", "BZh is a string\n", "GGUF files\n", "PK\n",
                           "GIF89a\n", "<html>\n", "7z\n", ""}) {
    CHECK(kind_of(text) == "");
  }
  CHECK(kind_of("one\0two\0"s, Wanted::text, '\0') == "");
  CHECK(kind_of("a\0b\0"s, Wanted::text, '\0') == "");
  CHECK(kind_of("a line\nand \0 later\n"s) == "");
}

TEST_CASE("Input: UTF-16 and UTF-32, with a mark and without") {
  for (const std::u16string_view text :
       {u"Привет, мир\nда\n", u"да\nнет\n", u"hello\n", u"\nhello\n", u"a", u"你好世界\n再见\n",
        u"Дом\nЊ\n", u"“Да” — нет\r\nда\r\n", u"\xD83D\xDE00 ok\n"}) {
    for (const char* order : {"le", "be"}) {
      if (text.size() > 1) CHECK(kind_of(utf16(text, order)) == "UTF-16");
      CHECK(kind_of(utf16(u"\xFEFF", order) + utf16(text, order)) == "UTF-16");
    }
  }
  CHECK(kind_of("h\0\0\0i\0\0\0\n\0\0\0"s) == "UTF-32");
  CHECK(kind_of("\0\0\0h\0\0\0i\0\0\0\n"s) == "UTF-32");
  CHECK(kind_of("\xFF\xFE\0\0h\0\0\0"s) == "UTF-32");
  CHECK(kind_of("Привет, мир\nда\n") == "");
  CHECK(kind_of("\001\n\002\n\n\003\n\004\n") == "");
  CHECK(kind_of("the\xE2\ncat\0\n"s) == "");
  CHECK(kind_of("\x1B[m\n") == "");    // a terminal's colours
  CHECK(kind_of("\xFF\xE9\n") == "");  // Latin-1 is told by its bytes that are not UTF-8
}

TEST_CASE("Input: JSON by its first record") {
  CHECK(kind_of("{\"text\":\"a\"}\n{\"text\":\"b\"}\n") == "JSON");
  CHECK(kind_of("\n\n { \"text\" : 1e999 }\r\n") == "JSON");
  CHECK(kind_of("[{\"text\":\"a\"}]") == "a JSON list of objects");
  CHECK(kind_of("{\n  \"text\": 1\n}\n") == "JSON over several lines");
  CHECK(kind_of("[\n {\"text\": 1}\n]\n") == "JSON over several lines");
  for (const char* text :
       {"{not json}\n", "{\"text\":\"a\"} and more\n", "{}\n", "[1]\n", "[1,2]\n", "\"text\"\n",
        "{\nx\n", "[\nx\n", "[a\n\"b\"\n", "a\n{\"text\":\"a\"}\n"}) {
    CHECK(kind_of(text) == "");
  }
  CHECK(kind_of("{\"text\":\"a\"}\n", Wanted::objects) == "");
  CHECK(kind_of("{\"text\":\"a\"}\n", Wanted::either) == "");
  CHECK(refuse_input({"{\"text\":\"a\"}\n"}, Wanted::text_or_objects) ==
        "looks like JSON, wants text; `json_lines` reads JSON lines; `as_text` takes it as it is");
  CHECK(refuse_input({"{\"text\":\"a\"}\n"}, Wanted::lines) ==
        "looks like JSON, wants lines of text; jq makes fields of it, see bert-tsv(5)");
}

TEST_CASE("Input: CSV by its first records") {
  const std::string ag = "\"3\",\"Wall St.\",\"Reuters - Short-sellers, again\"\n";
  for (const std::string& csv : {ag + ag + ag, "text,label\n\"good, \"\"very\"\"\",1\nbad,0\n"s,
                                 "id,s1,s2\r\n1,a b,c\r\n2,d,e\r\n"s, "a,b\n1,x\n2,y\n"s,
                                 "text,label\n\"of two\nlines\",1\nx,0"s}) {
    CHECK(kind_of(csv) == "CSV");
  }
  CHECK(kind_of("id;text\n1;a\n2;b\n") == "CSV with semicolons");
  const std::string said = "\"No,\" she said, \"I do.\"\n";
  for (const std::string& text :
       {said + said + said, ag + ag, "red,green\nblue,white\nhot,cold\n"s,
        "hi,bro\nok,see you\nso,bye\n"s, "text, label\ngood, 1\nbad, 0\n"s,
        "text,label\ngood,1\nbad,0,1\n"s, "text,label\ta\ngood,1\tb\nbad,0\tc\n"s,
        "1,2\n3,4\n5,6\n"s, "\"a\"\n\"b\"\n\"c\"\n"s, "Yes, I do.\nNo, I don't.\nWell, well.\n"s,
        "\"Once,\nupon\na\ntime\n"s}) {
    CHECK(kind_of(text) == "");
  }
}

TEST_CASE("RecordReader: a file of another kind is one that cannot be opened") {
  const test::TemporaryFile bad("PK\x03\x04 and so on\n"), good("a line\n");
  const std::vector<std::string> files = {bad.path(), good.path()};
  std::string told;
  RecordReader reader(files, '\n', [&](const Error& error) {
    CHECK(error.kind() == Error::Kind::data);
    told += error.what();
  });
  Chunk chunk;
  const auto busy = [] { return Busy::none; };
  REQUIRE(reader.next(chunk, 10, 1 << 16, busy));
  CHECK(told ==
        files[0] + ": looks like a zip archive, wants lines of text; unzip -p FILE unpacks it");
  CHECK(chunk.lines == std::vector<std::string_view>{"a line"});
  CHECK(chunk.first_number == 1);
  CHECK_FALSE(reader.next(chunk, 10, 1 << 16, busy));
  RecordReader strict(files, '\n');
  CHECK_THROWS_AS(strict.next(chunk, 10, 1 << 16, busy), Error);
  RecordReader any(files, '\n', {}, false, Wanted::anything);
  REQUIRE(any.next(chunk, 10, 1 << 16, busy));
}
