#include <doctest/doctest.h>

#include <string>

#include "io/json_object.h"

using namespace bert;

namespace {

std::string merged(std::string_view object, std::string_view row) {
  std::string out;
  append_with_members(out, object, json_members(row));
  return out;
}

}  // namespace

TEST_CASE("members of a JSON object are found in its bytes") {
  const auto members = json_members(
      R"( { "a" : 1 , "b\"}":[1,"]",{"x":"}"}],"c":{"d":[]} ,"e":"\\\"", "f":-1.5e3} )");
  REQUIRE(members.size() == 5);
  CHECK(members[0].bytes == R"("a" : 1)");
  CHECK(members[1].key == R"("b\"}")");
  CHECK(members[1].value == R"([1,"]",{"x":"}"}])");
  CHECK(members[2].value == R"({"d":[]})");
  CHECK(members[3].value == R"("\\\"")");
  CHECK(members[4].value == "-1.5e3");
  CHECK(json_members("{}").empty());
  CHECK(json_members(" { } ").empty());
}

TEST_CASE("an object gets members, and keeps the bytes of its own") {
  CHECK(merged(R"({"a": 1,  "b":2})", R"({"c":3})") == R"({"a": 1,  "b":2,"c":3})");
  CHECK(merged(R"({ "a": 1 })", R"({"c":3})") == R"({ "a": 1,"c":3 })");
  CHECK(merged("{}", R"({"c":3,"d":4})") == R"({"c":3,"d":4})");
  CHECK(merged(" { } ", R"({"c":3})") == R"( {"c":3 })");
  CHECK(merged(R"({"a": 1,  "c":2, "b":3})", R"({"c":3})") == R"({"a": 1,"b":3,"c":3})");
  CHECK(merged(R"({"\u0063":2})", R"({"c":3})") == R"({"c":3})");
  CHECK(merged(R"({"a":1})", "{}") == R"({"a":1})");
}
