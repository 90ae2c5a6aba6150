#include "model/config_keys.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace bert::config_keys {

[[noreturn]] void refuse(const Json& value, std::string_view wanted) {
  throw Error(Error::Kind::unsupported, value.where(),
              fmt::format("found {}, wants {}", value.describe(), wanted));
}

std::optional<Json> find(const Json& object, std::initializer_list<std::string_view> keys) {
  return find_any(object, {keys.begin(), keys.size()});
}

std::optional<Json> find_any(const Json& object, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (key.empty()) continue;
    if (const auto value = object.find(key); value && !value->is_null()) return value;
  }
  return std::nullopt;
}

size_t size_of(const Json& value, size_t least, size_t most) {
  const auto number = value.type() == Json::Type::integer ? value.try_int() : std::nullopt;
  if (!number || *number < static_cast<int64_t>(least) || static_cast<uint64_t>(*number) > most) {
    refuse(value, fmt::format("a whole number from {} to {}", least, most));
  }
  return static_cast<size_t>(*number);
}

bool flag_at(const Json& object, std::string_view key, bool absent) {
  const auto value = find(object, {key});
  if (!value) return absent;
  if (value->type() != Json::Type::boolean) refuse(*value, "true or false");
  return value->as_bool();
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> keys,
                    std::string_view absent) {
  const auto value = find(object, keys);
  if (!value) return std::string(absent);
  if (!value->is_string()) refuse(*value, "a string");
  return std::string(value->as_string());
}

double number_at(const Json& object, std::string_view key, double absent) {
  const auto value = find(object, {key});
  if (!value) return absent;
  const bool is_number =
      value->type() == Json::Type::integer || value->type() == Json::Type::number;
  if (!is_number || !(value->as_double() > 0) || !std::isfinite(value->as_double())) {
    refuse(*value, "a number above 0");
  }
  return value->as_double();
}

}  // namespace bert::config_keys
