#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/words.h"

namespace bert {
namespace {

/// Each word, with the bytes that it begins and ends at.
std::string words(std::string_view text, size_t from = 0) {
  std::string list;
  for (const Offset word : words_between_blanks(text, from)) {
    list += std::to_string(word.begin) + '-' + std::to_string(word.end) + ' ';
    list += std::string(text.substr(word.begin, word.end - word.begin)) + '|';
  }
  return list;
}

}  // namespace

TEST_CASE("words between blanks keep their punctuation") {
  CHECK(words("He didn't go.") == "0-2 He|3-9 didn't|10-13 go.|");
  CHECK(words("a well-known, U.S.-built ship") ==
        "0-1 a|2-13 well-known,|14-24 U.S.-built|25-29 ship|");
}

TEST_CASE("texts without words have none") {
  CHECK(words("").empty());
  CHECK(words("  \t \r ").empty());
  CHECK(words("\u3000\u00a0").empty());
}

TEST_CASE("every white space separates words, several as one") {
  CHECK(words("a\tb") == "0-1 a|2-3 b|");
  CHECK(words(" a  b ") == "1-2 a|4-5 b|");
  CHECK(words("a b\r") == "0-1 a|2-3 b|");
  CHECK(words("10\u00a0km") == "0-2 10|4-6 km|");                         // NBSP
  CHECK(words("\u3000\u732b\u3000\u72ac") == "3-6 \u732b|9-12 \u72ac|");  // ideographic space
  CHECK(words("a\u2009b\u2028c") == "0-1 a|4-5 b|8-9 c|");  // thin space, line separator
}

TEST_CASE("what only looks like a blank does not separate words") {
  CHECK(words("a\u200bb") == "0-5 a\u200bb|");  // zero width space is of category Cf
  CHECK(words("a\u2060b") == "0-5 a\u2060b|");
}

TEST_CASE("offsets of words are in bytes of the whole text") {
  CHECK(words("\u00e9t\u00e9 na\u00efve") == "0-5 \u00e9t\u00e9|6-12 na\u00efve|");
  CHECK(words("\U0001f600 x") == "0-4 \U0001f600|5-6 x|");
  CHECK(words("prompt: a bc", 8) == "8-9 a|10-12 bc|");
  CHECK(words("abc", 3).empty());
}

}  // namespace bert
