#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "predict/entity_choice.h"
#include "predict/name_words.h"

namespace bert {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<Offset> places;
  split_name_words(text, places);
  std::vector<std::string> words;
  for (const Offset& at : places) words.emplace_back(text.substr(at.begin, at.end - at.begin));
  return words;
}

using Words = std::vector<std::string>;

TEST_CASE("words of names are those of Python's \\w+(?:[-_]\\w+)*|\\S") {
  CHECK(words_of("").empty());
  CHECK(words_of(" \t\xC2\xA0\xE3\x80\x80\xE2\x80\xA8").empty());
  CHECK(words_of("a-b c--d e- -f") == Words{"a-b", "c", "-", "-", "d", "e", "-", "-", "f"});
  CHECK(words_of("O'Neil_Smith-2.5") == Words{"O", "'", "Neil_Smith-2", ".", "5"});
  CHECK(words_of("\xE5\xB7\xB4\xE9\xBB\x8E\xE3\x80\x82x") ==
        Words{"\xE5\xB7\xB4\xE9\xBB\x8E", "\xE3\x80\x82", "x"});
  CHECK(words_of("cafe\xCC\x81s") == Words{"cafe", "\xCC\x81", "s"});        // a mark is no \w
  CHECK(words_of("\xC2\xBD\xE2\x85\xA3") == Words{"\xC2\xBD\xE2\x85\xA3"});  // numbers are
  CHECK(words_of("a\xE2\x80\x8B") == Words{"a", "\xE2\x80\x8B"});
  CHECK(words_of("a\xFF\xFE") == Words{"a", "\xFF", "\xFE"});
  CHECK(words_of("a\x1C\xC2\x85z") == Words{"a", "z"});
}

std::string chosen(const EntityRule& rule, std::vector<EntityScore> spans) {
  choose_entities(rule, 10, spans);
  std::string text;
  for (const EntityScore& e : spans) {
    text +=
        std::to_string(e.begin) + "-" + std::to_string(e.end) + ":" + std::to_string(e.name) + " ";
  }
  return text;
}

TEST_CASE("of spans that share words the best are chosen") {
  const std::vector<EntityScore> spans = {{0, 1, 0, .5f},  {0, 2, 0, .9f}, {0, 2, 1, .8f},
                                          {1, 3, 0, .85f}, {2, 4, 0, .7f}, {3, 4, 0, .7f},
                                          {5, 6, 1, .6f},  {5, 6, 0, .6f}};
  CHECK(chosen({false, false}, spans) == "0-2:0 2-4:0 5-6:1 ");
  CHECK(chosen({true, false}, spans) == "0-2:0 0-1:0 2-4:0 3-4:0 5-6:1 ");
  CHECK(chosen({false, true}, spans) == "0-2:0 0-2:1 2-4:0 5-6:1 5-6:0 ");
  CHECK(chosen({true, true}, spans) == "0-2:0 0-2:1 0-1:0 2-4:0 3-4:0 5-6:1 5-6:0 ");
  CHECK(chosen({}, {}).empty());
}

}  // namespace
}  // namespace bert
