#include <doctest/doctest.h>
#include <regex.h>

#include <clocale>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "text/posix_regex.h"

using namespace bert;

namespace {

using Match = std::optional<std::pair<size_t, size_t>>;

Match find(const std::string& expression, const std::string& text, size_t from = 0) {
  Regex::Scratch scratch;
  return Regex(expression).find(text, from, scratch);
}

std::optional<Regex> compile(const std::string& expression) {
  try {
    return Regex(expression);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Numbers that look random, the same each time.
class Draws {
 public:
  size_t below(size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state_ >> 33) % n;
  }

 private:
  uint64_t state_ = 1;
};

template <size_t N>
std::string draw(const char* const (&parts)[N], size_t count, Draws& draws) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += parts[draws.below(N)];
  return text;
}

}  // namespace

TEST_CASE("the leftmost match, and of these the longest") {
  CHECK(find("a|ab|abc", "xabcd") == Match({1, 4}));
  CHECK(find("b+|xab", "bbxab") == Match({0, 2}));
  CHECK(find("(a|ab)(c|bcd)", "abcd") == Match({0, 4}));
  CHECK(find("x*", "aax", 1) == Match({1, 1}));
  CHECK(find("^a", "aa", 1) == std::nullopt);  // what stands before counts
  CHECK(find("\\bat", "cat", 1) == std::nullopt);
  CHECK(find("$", "ab") == Match({2, 2}));
}

TEST_CASE("letters are those of all scripts, and bytes that are no UTF-8 match nothing") {
  CHECK(find("\\bкот\\b", "это кот") == Match({7, 13}));
  CHECK(find("[а-я]+", "abc мир") == Match({4, 10}));
  CHECK(find("[[:upper:]]", "aÉ") == Match({1, 3}));
  CHECK(find(".", "\xff\xff") == std::nullopt);
  CHECK(find("[^a]", "\xC3") == std::nullopt);
}

TEST_CASE("a search that takes too long gives up") {
  Regex::Scratch scratch;
  const std::string text(100000, 'a');
  CHECK(Regex("(a+)+$|b").find(text + "!", 0, scratch, 3000000) == std::nullopt);
  scratch.steps = 0;
  CHECK_THROWS_AS(Regex("((a{1,9}){1,9}){1,9}b").find(text, 0, scratch, 3000000), Error);
}

TEST_CASE("expressions drawn at random match as regexec does") {
  // But for \b, \B and ^ within, which regexec gets wrong beside letters of several bytes.
  const char* parts[] = {
      "a",   "b",     "é",           "ж",    "(",   ")", "|",    "*",    "+",    "?",
      "{2}", "{1,3}", "{,2}",        "{1,}", "$",   ".", "[ab]", "[^a]", "[éж]", "[]a]",
      "\\w", "[a-]",  "[[:alpha:]]", "\\W",  "\\s", "x", "\\.",  " ",    "}",    "[^[:space:]b]"};
  const char* characters[] = {"a", "b", "é", "ж", " ", "x", "_", "]", "."};
  const std::string before = std::setlocale(LC_CTYPE, nullptr);
  if (!std::setlocale(LC_CTYPE, "C.UTF-8")) return;
  Draws draws;
  Regex::Scratch scratch;
  size_t matches = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string expression = draw(parts, 1 + draws.below(8), draws);
    CAPTURE(expression);
    regex_t other;
    const bool good = regcomp(&other, expression.c_str(), REG_EXTENDED) == 0;
    const std::optional<Regex> regex = compile(expression);
    CHECK(good == regex.has_value());
    for (int k = 0; good && regex && k < 4; ++k) {
      const std::string text = draw(characters, draws.below(10), draws);
      CAPTURE(text);
      regmatch_t wanted{0, static_cast<regoff_t>(text.size())};
      const bool has = regexec(&other, text.data(), 1, &wanted, REG_STARTEND) == 0;
      const Match found = regex->find(text, 0, scratch);
      CHECK(has == found.has_value());
      if (!has || !found) continue;
      ++matches;
      CHECK(found->first == static_cast<size_t>(wanted.rm_so));
      CHECK(found->second == static_cast<size_t>(wanted.rm_eo));
    }
    if (good) regfree(&other);
  }
  CHECK(matches > 3000);
  std::setlocale(LC_CTYPE, before.c_str());
}
