#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/json.h"
#include "io/json_row.h"
#include "io/json_syntax.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/safetensors.h"
#include "temporary.h"

using namespace bert;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// What `f` throws: its message, and in `kind` its kind.
template <typename F>
std::string thrown(F f, Error::Kind* kind = nullptr) {
  try {
    f();
  } catch (const Error& error) {
    if (kind) *kind = error.kind();
    return error.what();
  }
  return "";
}

std::string json_error(std::string_view text) {
  return thrown([&] { JsonDocument::parse(text, "f"); });
}

/// A safetensors file of this header and so many bytes of data.
std::string file_of(const std::string& header, size_t data) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data, '\1');
}

std::vector<SafetensorsEntry> read(const std::string& file) {
  return read_safetensors({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "f");
}
std::string safetensors_error(const std::string& header, size_t data) {
  const std::string file = file_of(header, data);
  return thrown([&] { read(file); });
}

}  // namespace

TEST_CASE("printable: one line, whatever the bytes") {
  CHECK(printable("plain text") == "plain text");
  CHECK(printable("a\n\x1b[31m\x7f\0b"sv) == "a\\x0a\\x1b[31m\\x7f\\x00b");
  CHECK(printable("caf\u00e9 \u4f60\u597d \U0001f600") == "caf\u00e9 \u4f60\u597d \U0001f600");
  CHECK(printable("\u009b") == "\\xc2\\x9b");  // a C1 control
  CHECK(printable("\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80") ==
        "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
  CHECK(printable("abc", 2) == "ab...");
  CHECK(printable("\u4f60\u597d", 2) == "\u4f60\u597d");
  CHECK(printable(std::string(500, 'x'), 0).size() == 500);
  CHECK(printable(printable("\n")) == printable("\n"));
  CHECK(printable_lines("") == "");
  CHECK(printable_lines("a\t\x1b[7m\nb\r\n\u009b\n"sv) == "a\t\\x1b[7m\nb\\x0d\n\\xc2\\x9b\n");
}

TEST_CASE("Error: where, what, and the status of errno") {
  CHECK(Error(Error::Kind::data, "f", "bad").what() == "f: bad"s);
  CHECK(Error(Error::Kind::data, "", "bad").what() == "bad"s);
  CHECK(Error(Error::Kind::data, "a\nb", "c\td").what() == "a\\x0ab: c\\x09d"s);
  CHECK(Error::from_errno("f", "cannot open", ENOENT).what() ==
        "f: cannot open: No such file or directory"s);
  CHECK(Error::from_errno("f", "", ENOENT).kind() == Error::Kind::no_input);
  CHECK(Error::from_errno("f", "", EACCES).kind() == Error::Kind::permission);
  CHECK(Error::from_errno("f", "", EMFILE).kind() == Error::Kind::no_memory);
  CHECK(Error::from_errno("f", "", EIO).kind() == Error::Kind::io);
}

TEST_CASE("MappedFile: what is held in memory does not change with the file") {
  const test::TemporaryFile file("content");
  MappedFile mapped = MappedFile::open(file.path());
  const std::string_view text = mapped.text();
  mapped.hold();
  std::ofstream(file.path(), std::ios::trunc) << "x";
  CHECK(text == "content");
  CHECK(mapped.text().data() == text.data());
  MappedFile empty = MappedFile::open(test::TemporaryFile("").path());
  empty.hold();
  CHECK(empty.size() == 0);
}

TEST_CASE("MappedFile: regular files only") {
  const test::TemporaryFile file("content");
  MappedFile mapped = MappedFile::open(file.path());
  CHECK(mapped.text() == "content");
  const MappedFile moved = std::move(mapped);
  CHECK(moved.text() == "content");
  CHECK(moved.path() == file.path());
  CHECK(MappedFile::open(test::TemporaryFile("").path()).size() == 0);
  CHECK(thrown([&] { MappedFile::open(file.path(), 6); }) ==
        file.path() + ": 7 bytes, wants at most 6");
  Error::Kind kind{};
  for (const std::string path : {"/dev/zero", "/tmp", "/dev/null"}) {
    CHECK(thrown([&] { MappedFile::open(path); }, &kind) == path + ": not a regular file");
    CHECK(kind == Error::Kind::no_input);
  }
  const std::string fifo = file.path() + ".fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(thrown([&] { MappedFile::open(fifo); }) == fifo + ": not a regular file");
  unlink(fifo.c_str());
  thrown([&] { MappedFile::open("/nowhere/at/all"); }, &kind);
  CHECK(kind == Error::Kind::no_input);
  CHECK(file_exists(file.path()));
  CHECK_FALSE(file_exists("/nowhere/at/all"));
}

TEST_CASE("OutputFile: pieces of any size come out in order, and nothing before commit") {
  const test::TemporaryFile file("old");
  std::string written;
  {
    OutputFile out(file.path());
    for (const size_t size : {1u, 3u << 20, 0u, 12345u, 2u << 20, 4u << 20, 1u << 20, 7u}) {
      std::string piece(size, '\0');
      for (size_t i = 0; i < size; ++i) piece[i] = static_cast<char>((written.size() + i) % 251);
      out.write(piece);
      written += piece;
    }
    CHECK(file.content() == "old");
    out.commit();
  }
  CHECK(file.content() == written);
  OutputFile(file.path()).write(std::string(5u << 20, 'x'));
  CHECK(file.content() == written);
}

TEST_CASE("OutputFile: replaces no pipe, no device and no directory") {
  const test::TemporaryFile pipe("");
  REQUIRE(unlink(pipe.path().c_str()) == 0);
  REQUIRE(mkfifo(pipe.path().c_str(), 0600) == 0);
  for (const std::string& path : {pipe.path(), std::string("/dev/null"), std::string("/")}) {
    CAPTURE(path);
    Error::Kind kind{};
    thrown([&] { OutputFile file(path); }, &kind);
    CHECK(kind == Error::Kind::cannot_create);
  }
}

TEST_CASE("Json: values") {
  const JsonDocument document = JsonDocument::parse(
      R"({"a": [1, -2, 3.5, 18446744073709551615, true, null], "b": {"c": "x\u00e9\u0000y"}})",
      "f");
  const Json root = document.root();
  CHECK(root.size() == 2);
  std::vector<std::string> elements;
  root.at("a").for_each_element([&](Json value) { elements.push_back(value.describe()); });
  CHECK(elements ==
        std::vector<std::string>{"1", "-2", "3.5", "18446744073709551615", "true", "null"});
  CHECK(root.at("b").at("c").as_string() == "x\u00e9\0y"sv);
  CHECK(root.at("b").at("c").where() == "f: b.c");
  CHECK(root.where() == "f");
  CHECK_FALSE(root.find("z"));
  std::vector<std::string> keys;
  root.for_each_member([&](std::string_view key, Json) { keys.emplace_back(key); });
  CHECK(keys == std::vector<std::string>{"a", "b"});
  JsonDocument moved = JsonDocument::parse("[1]", "g");
  moved = JsonDocument::parse("[2]", "h");
  CHECK(moved.root().where() == "h");
}

TEST_CASE("Json: texts with their scores, up to the first element that is none") {
  std::string found;
  const auto other = [&](std::string_view text) {
    found.clear();
    const JsonDocument document = JsonDocument::parse(text, "f");
    const auto first = document.root().for_each_scored(
        [&](std::string_view word, double score) { found += fmt::format("{} {} ", word, score); });
    return first ? first->where() : "none";
  };
  CHECK(other(R"([["a", 1], ["\u00e9", -2.5], ["", 0]])") == "none");
  CHECK(found == "a 1 \u00e9 -2.5  0 ");
  CHECK(other("[]") == "none");
  for (const char* wrong : {R"("b")", R"(["b"])", R"(["b", 1, 2])", R"([1, 1])", R"(["b", "c"])",
                            R"([])", R"({"b": 1})", "null"}) {
    CAPTURE(wrong);
    CHECK(other(fmt::format(R"([["a", 1], {}, ["c", 3]])", wrong)) == "f: [1]");
    CHECK(found == "a 1 ");
  }
  CHECK_THROWS_WITH_AS(other("{}"), doctest::Contains("wants an array"), Error);
}

TEST_CASE("Json: a getter says file, path, what was found and wanted") {
  const JsonDocument document = JsonDocument::parse(R"({"a": [1, {"b": "text"}], "n": 1e30})", "f");
  const Json root = document.root();
  const auto nested = [&] {
    std::vector<Json> all;
    root.at("a").for_each_element([&](Json value) { all.push_back(value); });
    return all[1].at("b");
  };
  CHECK(thrown([&] { nested().as_int(); }) == "f: a[1].b: found \"text\", wants an integer");
  CHECK(thrown([&] { nested().find("x"); }) == "f: a[1].b: found \"text\", wants an object");
  CHECK(thrown([&] { root.at("a").as_string(); }) == "f: a: found an array, wants a string");
  CHECK(thrown([&] { root.at("n").as_int(); }) == "f: n: found 1e+30, wants an integer");
  CHECK(thrown([&] { root.at("zz"); }) == "f: no key \"zz\"");
  CHECK(root.at("n").as_double() == 1e30);
}

TEST_CASE("Json: integers of any length, as transformers writes them") {
  const JsonDocument document = JsonDocument::parse(
      R"({"model_max_length": 1000000000000000019884624838656, "s": "99999999999999999999 \" 1"})",
      "f");
  CHECK(document.root().at("model_max_length").type() == Json::Type::number);
  CHECK(document.root().at("model_max_length").as_double() == doctest::Approx(1e30));
  CHECK(document.root().at("s").as_string() == "99999999999999999999 \" 1");
  CHECK(json_error("[" + std::string(400, '9') + "]").find("number") != std::string::npos);
}

TEST_CASE("Json: what is refused, and where") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "f: empty file, wants JSON"},
      {"{\"a\":1}x", "f: broken JSON at byte 7: text after the value"},
      {"{\"a\":1,}", "f: broken JSON at byte 7: wants a key"},
      {"[1,2", "f: broken JSON at byte 4: wants ',' or ']', found the end"},
      {"[1 2]", "f: broken JSON at byte 3: wants ',' or ']'"},
      {"{\"a\" 1}", "f: broken JSON at byte 5: wants ':'"},
      {"[01]", "f: broken JSON at byte 1: a number with a leading zero"},
      {"[1.]", "f: broken JSON at byte 3: wants a digit"},
      {"[NaN]", "f: broken JSON at byte 1: wants a value"},
      {"[\"\xff\"]", "f: broken JSON at byte 2: invalid UTF-8"},
      {"[\"\\ud800\"]", "f: broken JSON at byte 2: a lone surrogate"},
      {"[\"\\x\"]", "f: broken JSON at byte 2: an unknown escape"},
      {"[\"a\nb\"]", "f: broken JSON at byte 3: a control byte in a string"},
      {"\xEF\xBB\xBF{}", "f: broken JSON at byte 0: a byte order mark"},
      {"<html>", "f: this is an HTML or XML page, not JSON"},
      {"{\"a\":1,\"a\":2}", "f: the key \"a\" stands twice"},
      {"[{\"b\":{\"a\":1,\"a\":2}}]", "f: [0].b: the key \"a\" stands twice"},
      {"{\"\\u0061\":1,\"a\":2}", "f: the key \"a\" stands twice"},
  };
  for (const auto& [text, message] : cases) CHECK(json_error(text) == message);
  CHECK(json_error(std::string(64, '[') + std::string(64, ']')) == "");
  CHECK(json_error(std::string(65, '[') + std::string(65, ']')) ==
        "f: broken JSON at byte 64: nested deeper than 64");
  CHECK(json_error(std::string(200'000, '[')) ==
        "f: broken JSON at byte 64: nested deeper than 64");
}

TEST_CASE("Json: a key twice among thousands, and keys that only start alike") {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  CHECK(json_error(text + "\"k\\u0000\":1,\"k\":1}") == "");
  CHECK(json_error(text + "\"k\":1,\"k\\u0000\":1,\"k\\u0000\\u0000\":1}") == "");
  CHECK(json_error(text + "\"k2500\":1}") == "f: the key \"k2500\" stands twice");
}

TEST_CASE("Json: a file that ends near the end of a page") {
  for (const size_t size : {4000u, 4031u, 4032u, 4033u, 4095u, 4096u, 8192u}) {
    const test::TemporaryFile file("[" + std::string(size - 3, ' ') + "7]");
    CHECK(JsonDocument::open(file.path()).root().size() == 1);
  }
}

TEST_CASE("append_json_string: escapes, and U+FFFD for what is not UTF-8") {
  std::string out;
  append_json_string(out, "a\"\\\n\t\x01\u00e9\xff\xe4\xbd\U0001f600"sv);
  CHECK(out == "\"a\\\"\\\\\\n\\t\\u0001\u00e9\uFFFD\uFFFD\U0001f600\"");
}

TEST_CASE("JsonRow sets commas between members, elements and rows where they belong") {
  std::string out = "before\n";
  JsonRow json(out);
  json.object().count("n", 3).text("t", "a\"").flag("f", true).null("z");
  json.list("empty").end_list().object("none").end_object();
  json.list("l").list().count("", -1).count("", 2).end_list().text("", ",").object();
  JsonRow(out).number("x", 0.5).number("nan", std::nan("")).end_object().end_list();
  const float values[] = {1, 0.1f, INFINITY};
  json.exact("v", values).object("e").entry("k\":").number("", 1e-7).entry("").count("", 0);
  json.end_object().end_object();
  CHECK(out ==
        "before\n"
        R"({"n":3,"t":"a\"","f":true,"z":null,"empty":[],"none":{},"l":[[-1,2],",",)"
        R"({"x":0.5,"nan":null}],"v":[1,0.1,null],"e":{"k\":":1e-07,"":0}})");
  out += '\n';
  json.object().end_object();
  CHECK(out.ends_with("}\n{}"));
}

TEST_CASE("widen_json_integers leaves strings and what fits alone") {
  CHECK(
      widen_json_integers(
          R"([18446744073709551615,18446744073709551616,-9223372036854775808,"1\"99999999999999999999"])") ==
      R"([18446744073709551615,18446744073709551616.0,-9223372036854775808,"1\"99999999999999999999"])");
}

TEST_CASE("file_kind names what is not a model file") {
  CHECK(file_kind("  <!DOCTYPE html>") == "an HTML or XML page");
  CHECK(file_kind("version https://git-lfs.github.com/spec/v1\n") ==
        "a git-lfs pointer, not the file itself");
  CHECK(file_kind("PK\x03\x04") == "a zip archive");
  CHECK(file_kind("<\0\0\0\0\0\0\0{}"sv) == "");  // the header of a small safetensors file
  CHECK(file_kind("") == "");
}

TEST_CASE("safetensors: a file of two tensors") {
  const std::string file = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      16);
  const auto tensors = read(file);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].name == "a");
  CHECK(tensors[0].shape.empty());
  CHECK(tensors[1].dtype == "F16");
  CHECK(tensors[1].shape == std::vector<size_t>{2, 3});
  CHECK(tensors[1].bytes.size() == 12);
  CHECK(tensors[1].bytes.data() ==
        reinterpret_cast<const std::byte*>(file.data() + file.size() - 12));
}

TEST_CASE("safetensors: a header of 60 bytes starts with '<' and is no HTML page") {
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(60, ' ');
  CHECK(read(file_of(header, 1)).size() == 1);
}

TEST_CASE("safetensors: what is refused") {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  CHECK(safetensors_error(entry("[2]", "[0,8]"), 8) == "");
  CHECK(safetensors_error(entry("[2]", "[0,8]"), 7).find("do not lie in the 7 bytes") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[2]", "[0,8]"), 9).find("end at byte 8 of 9") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[3]", "[0,8]"), 8).find("F32 [3] is 12 bytes") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[4294967296,4294967296]", "[0,0]"), 0).find("too large") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[4611686018427387904]", "[0,0]"), 0).find("too large") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8).find("9 dimensions") !=
        std::string::npos);
  CHECK(safetensors_error(entry("[-2]", "[0,8]"), 8).find("found") == std::string::npos);
  CHECK(safetensors_error(entry("[-2]", "[0,8]"), 8).find("shape has -2") != std::string::npos);
  CHECK(safetensors_error(entry("[2]", "[8,0]"), 8).find("do not lie") != std::string::npos);
  CHECK(safetensors_error(R"({"t":{"dtype":"F31","shape":[],"data_offsets":[0,0]}})", 0)
            .find("F31") != std::string::npos);
  CHECK(safetensors_error(R"({"t":{"dtype":"F32","shape":[]}})", 0).find("data_offsets") !=
        std::string::npos);
  CHECK(thrown([] { read(std::string(7, '\0')); }).find("too short") != std::string::npos);
  CHECK(thrown([] { read(std::string(8, '\xff')); }).find("18446744073709551615") !=
        std::string::npos);
}
