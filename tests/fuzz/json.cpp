// The JSON reader against the slow scanner that explains its errors: they must agree on every text.
#include "io/json.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "io/input_kind.h"
#include "io/json_syntax.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void walk(bert::Json value) {
  require(!value.describe().empty());
  switch (value.type()) {
    case bert::Json::Type::string: {
      std::string literal;
      bert::append_json_string(literal, value.as_string());
      require(bert::JsonDocument::parse(literal, "again").root().as_string() == value.as_string());
      break;
    }
    case bert::Json::Type::array:
      value.for_each_element(walk);
      break;
    case bert::Json::Type::object:
      value.for_each_member([&](std::string_view key, bert::Json member) {
        require(value.find(key).has_value());
        walk(member);
      });
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fault = bert::find_json_fault(text);
  try {
    const bert::JsonDocument document = bert::JsonDocument::parse(text, "fuzz");
    require(!fault);
    if (size < 4096) walk(document.root());
  } catch (const bert::Error& error) {
    require(error.kind() == bert::Error::Kind::data);
    const std::string what = error.what();
    require(fault || what.find("stands twice") != std::string::npos ||
            what.find("number") != std::string::npos);
  }
  try {
    bert::JsonDocument::parse_any_numbers(text, "fuzz");
    require(!fault);
  } catch (const bert::Error& error) {
    require(fault || std::string(error.what()).find("stands twice") != std::string::npos);
  }
  for (const bert::Wanted wanted : {bert::Wanted::text, bert::Wanted::objects}) {
    for (const char terminator : {'\n', '\0'}) {
      bert::refuse_input({text, terminator, size % 2 == 0}, wanted);
    }
  }
  return 0;
}
