#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "text/normalizer.h"
#include "text/unicode.h"

using namespace bert;

namespace {

struct Result {
  std::string text;
  std::vector<uint32_t> begin;  // of each character
  std::vector<uint32_t> end;
};

Result normalize(std::string_view text, const NormalizerOptions& options) {
  Normalizer normalizer(options);
  normalizer.start(text, 0);
  Result result;
  for (NormalizedChar c; normalizer.next(c);) {
    char bytes[4];
    result.text.append(bytes, encode_utf8(c.code_point, bytes));
    result.begin.push_back(c.begin);
    result.end.push_back(c.end);
  }
  return result;
}

using Spans = std::vector<uint32_t>;
constexpr NormalizerOptions kUncased{};
constexpr NormalizerOptions kNothing{false, false, false, false};
constexpr NormalizerOptions kStrip{false, false, true, false};

}  // namespace

TEST_CASE("each step of the normaliser") {
  CHECK(normalize("a\x01\xE2\x80\x8B\tb", {true, false, false, false}).text == "a b");
  CHECK(normalize("x中y", {false, true, false, false}).text == "x 中 y");
  CHECK(normalize("Éå", kStrip).text == "Ea");
  CHECK(normalize("ÉÅ", {false, false, false, true}).text == "éå");
  CHECK(normalize("\u00c9\x01中", kNothing).text == "\u00c9\x01中");
  CHECK(normalize("ÉCLAIR 中", kUncased).text == "eclair  中 ");
}

TEST_CASE("every character knows the bytes it stands for") {
  const Result r = normalize("É\u0301x", kUncased);
  CHECK(r.text == "ex");
  CHECK(r.begin == Spans{0, 4});
  CHECK(r.end == Spans{2, 5});
  const Result two = normalize("İ", {false, false, false, true});  // one character becomes two
  CHECK(two.text == "i\u0307");
  CHECK(two.begin == Spans{0, 0});
  CHECK(two.end == Spans{2, 2});
}

TEST_CASE("marks that stay are sorted, and take the places of the characters before them") {
  // U+302E is a mark of class 224 that the reference keeps; U+0323 has class 220, U+0301 230.
  const Result r = normalize("e\u302e\u0323\u0301", kStrip);
  CHECK(r.text == "e\u302e");
  CHECK(r.begin == Spans{0, 4});  // the place of the second mark
  CHECK(normalize("é\u302e", kStrip).begin == Spans{0, 2});
}

TEST_CASE("a run of marks costs linear time") {
  std::string text = "e";
  for (int i = 0; i < 200000; ++i) text += i % 2 ? "\u0301" : "\u0323";
  CHECK(normalize(text, kStrip).text == "e");
  CHECK(normalize(text + "\u302e", kStrip).text == "e\u302e");
}

TEST_CASE("properties at the edges of the reference's tables") {
  CHECK((char_class(0x2B81F) & kCharCjk));
  CHECK_FALSE((char_class(0x2B820) & kCharCjk));  // a slip of the reference: 0x2B920 for 0x2B820
  CHECK_FALSE((char_class(0x2B91F) & kCharCjk));
  CHECK((char_class(0x2B920) & kCharCjk));
  CHECK((char_class('$') & kCharPunctuation));
  CHECK_FALSE((char_class(0x2E43) & kCharPunctuation));  // younger than its tables
  CHECK((char_class(0x85) & kCharRemoved));
  CHECK((char_class(0x2028) & kCharSpace));
  CHECK((char_class(kReplacement) & kCharRemoved));
  CHECK((char_class(0x10FFFF) & kCharRemoved) == (char_class(0x10FFFE) & kCharRemoved));
}

TEST_CASE("lower case goes character by character") {
  const auto lower = [](char32_t c) {
    char32_t out[2];
    const size_t n = to_lower(c, out);
    return std::u32string(out, n);
  };
  CHECK(lower('A') == U"a");
  CHECK(lower('a') == U"a");
  CHECK(lower(U'Σ') == U"σ");  // no final sigma
  CHECK(lower(0x1E9E) == U"ß");
  CHECK(lower(0x212A) == U"k");
  CHECK(lower(0x130) == U"i\u0307");
  CHECK(lower(0x10400) == U"\U00010428");
}

TEST_CASE("UTF-8 is read and written") {
  for (const char32_t c : {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    char bytes[4];
    const size_t n = encode_utf8(c, bytes);
    const DecodedChar decoded = decode_utf8({bytes, n}, 0);
    CHECK(decoded.code_point == c);
    CHECK(decoded.length == n);
    CHECK(decoded.valid);
  }
  CHECK_FALSE(decode_utf8("\xED\xA0\x80", 0).valid);
  CHECK(decode_utf8("\xF0\x9F\x98", 0).length == 3);
  CHECK(count_code_points("aé中😀\xFF") == 5);
}
