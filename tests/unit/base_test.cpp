#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/parse.h"
#include "base/team.h"
#include "capture.h"

using namespace bert;

TEST_CASE("xxh64: what xxh64sum prints") {
  CHECK(xxh64("") == 0xef46db3751d8e999u);
  CHECK(xxh64("a") == 0xd24ec4f1a98c6e5bu);
  std::string letters;
  for (int i = 0; i < 130; ++i) letters += static_cast<char>('a' + i % 26);
  const std::pair<size_t, uint64_t> sums[] = {{3, 0x44bc2cf5ad770999u},  {4, 0xde0327b0d25d92ccu},
                                              {11, 0x814e257441cf78e0u}, {31, 0xf7d421c242541ac9u},
                                              {32, 0x4da6cbe536cf55c7u}, {47, 0xa040ee66839046cbu},
                                              {130, 0x878590700fe0385au}};
  for (const auto& [length, sum] : sums) {
    CAPTURE_BINDING(length);
    CHECK(xxh64(letters.substr(0, length)) == sum);
  }
}

TEST_CASE("fnv1a and StreamHash: known values; pieces of whole words do not show") {
  CHECK(fnv1a("") == 0xcbf29ce484222325u);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cu);
  StreamHash whole(3), parts(3);
  whole.add("0123456789abcdefxyz");
  parts.add("01234567"), parts.add("89abcdef"), parts.add("xyz");
  CHECK(whole.value() == parts.value());
  CHECK(whole.value() != StreamHash(3).value());
}

TEST_CASE("split and to_number") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b", ""});
  CHECK(split("a,,b,", ',', EmptyParts::skip) == Parts{"a", "b"});
  CHECK(split("", ',') == Parts{""});
  CHECK(split("", ',', EmptyParts::skip).empty());
  CHECK(to_number<size_t>("12") == 12u);
  CHECK(to_number<double>("-1.5e3") == -1500.0);
  for (const char* text : {"", "-1", "1 ", " 1", "+1", "1x", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(to_number<size_t>(text) == std::nullopt);
  }
  std::string_view rest = "7:token";
  CHECK(take_number<size_t>(rest) == 7u);
  CHECK(rest == ":token");
  CHECK(take_number<size_t>(rest) == std::nullopt);
  CHECK(rest == ":token");
}

TEST_CASE("Team: every part once in each round, also of more threads than there are CPUs") {
  for (const int threads : {1, 2, 16}) {
    CAPTURE(threads);
    Team team(threads);
    std::vector<int> calls(static_cast<size_t>(team.size()), 0);
    int wrong = 0;
    for (int round = 1; round <= 2000; ++round) {
      team.run([&](int part, int) { ++calls[static_cast<size_t>(part)]; });
      for (const int count : calls) wrong += count != round;
      // Members fall asleep.
      if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    CHECK(wrong == 0);
  }
}
