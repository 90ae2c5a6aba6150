#include <doctest/doctest.h>

#include "trainers/answer_place.h"

namespace bert {
namespace {

TEST_CASE("the start of an answer counts bytes, code points or UTF-16 units") {
  const std::string_view text = "aé😀b";  // 1, 2, 4 and 1 bytes
  CHECK(byte_of(text, 3, StartUnit::code_points) == 7);
  CHECK(byte_of(text, 4, StartUnit::utf16) == 7);
  CHECK(byte_of(text, 3, StartUnit::utf16) == text.npos);  // within the pair of surrogates
  CHECK(byte_of(text, 7, StartUnit::bytes) == 7);
  CHECK(byte_of(text, 2, StartUnit::bytes) == text.npos);
  for (const StartUnit unit : {StartUnit::bytes, StartUnit::code_points, StartUnit::utf16}) {
    CHECK(byte_of(text, 0, unit) == 0);
    CHECK(byte_of(text, 8, unit) == text.npos);
    CHECK(byte_of(text, -1, unit) == text.npos);
    CHECK(byte_of("", 0, unit) == text.npos);
  }
}

TEST_CASE("an answer is found where it stands nearest to its start") {
  const std::string_view text = "cat dog cat dog cat";
  CHECK(nearest_place(text, 7, "cat") == 8);
  CHECK(nearest_place(text, 3, "cat") == 0);
  CHECK(nearest_place(text, text.npos, "dog") == 4);
  CHECK(nearest_place(text, 0, "cow") == text.npos);
  CHECK(stands_at(text, 8, "cat"));
  CHECK_FALSE(stands_at(text, 17, "cat"));
  CHECK_FALSE(stands_at(text, text.npos, "cat"));
}

}  // namespace
}  // namespace bert
