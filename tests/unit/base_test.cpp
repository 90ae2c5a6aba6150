#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "base/hash.h"

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
    CAPTURE(length);
    CHECK(xxh64(letters.substr(0, length)) == sum);
  }
}
