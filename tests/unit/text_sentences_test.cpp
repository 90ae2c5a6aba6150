#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/sentences.h"

using namespace bert;

namespace {

/// The sentences of `text`, with a | between them.
std::string cut(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = sentence_end(text, i);
    REQUIRE(end > i);
    out += text.substr(i, end - i);
    if (end < text.size()) out += '|';
    i = end;
  }
  return out;
}

/// Text with marks | is cut at these places and no others.
void check(const std::string& marked) {
  std::string plain = marked;
  std::erase(plain, '|');
  CHECK(cut(plain) == marked);
}

}  // namespace

TEST_CASE("a sentence ends with its stop, what closes it, and the white space behind") {
  check("One.  |Two! |Three? |Four");
  check("\"Stop!\" |She ran. |(He did not.) |Then what?!  ");
  check("It ended... |Or not… |Yes.");
  check("Here.\n|There.\t|Where?\r\n|No.");
}

TEST_CASE("a stop inside a sentence ends none") {
  check("\"Stop!\" he said... and ran.");
  check("It is 3.14 at www.example.com, see a.b and v1.2!x.");
  check("Dr. Smith met J. R. Jones at 5 p.m. in the U.S. Senate, e.g. No. 5 on p. 7 of Jan. 3.");
  check("He said no. |She said yes. |1. Open the door. |2. Close it.");
  check("Siehe z.B. Seite 3 bzw. Prof. Meier.");
}

TEST_CASE("stops of other scripts") {
  check("今天很好。|我们走吧！」|好吗？|好");
  check("你好!|我很好. |是");
  check("यह है। |वह है॥ |هل هذا؟ |نعم۔ |Ok");
}

TEST_CASE("an empty line ends a sentence, a line end does not") {
  check("A title\n\n|a line\nand its rest\r\n \t\r\n|more\f|page\u2029|end");
  check("\n\n|x");
}

TEST_CASE("bytes that are not UTF-8 end nothing") {
  check("a\xff. |B\xe2\x80 c.\xc3");
  check(std::string("a\0. |B", 6));
}
