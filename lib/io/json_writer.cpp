#include "io/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace bert {
namespace {

void append_number(std::string& out, double value) {
  out += std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace

void append_json(std::string& out, Json value, const std::string& indent) {
  const std::string inner = indent + "  ";
  bool first = true;
  const auto separate = [&] {
    out += first ? "\n" : ",\n";
    first = false;
    out += inner;
  };
  switch (value.type()) {
    case Json::Type::null:
      out += "null";
      return;
    case Json::Type::boolean:
      out += value.as_bool() ? "true" : "false";
      return;
    case Json::Type::integer:
      if (const auto number = value.try_int()) {
        out += std::to_string(*number);
      } else {
        append_number(out, value.as_double());
      }
      return;
    case Json::Type::number: {
      const size_t begin = out.size();
      append_number(out, value.as_double());
      // 2.0 stays what it is: transformers refuses an integer where it wants such a number.
      if (out.find_first_not_of("-0123456789", begin) == out.npos) out += ".0";
      return;
    }
    case Json::Type::string:
      append_json_string(out, value.as_string());
      return;
    case Json::Type::array:
      out += '[';
      value.for_each_element([&](Json element) {
        separate();
        append_json(out, element, inner);
      });
      out += first ? "]" : "\n" + indent + "]";
      return;
    case Json::Type::object:
      out += '{';
      value.for_each_member([&](std::string_view key, Json member) {
        separate();
        append_json_string(out, key);
        out += ": ";
        append_json(out, member, inner);
      });
      out += first ? "}" : "\n" + indent + "}";
      return;
  }
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace bert
