#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/json.h"

namespace bert {

/// What the files that read config.json share. All throw Error(unsupported) naming key, value and
/// what is wanted.
namespace config_keys {

[[noreturn]] void refuse(const Json& value, std::string_view wanted);
/// The first of `keys` that the object has and that is not null.
std::optional<Json> find(const Json& object, std::initializer_list<std::string_view> keys);
std::optional<Json> find_any(const Json& object, std::span<const std::string_view> keys);
/// A size. Null is refused: it has no meaning here.
size_t size_of(const Json& value, size_t least, size_t most);
bool flag_at(const Json& object, std::string_view key, bool absent);
std::string text_at(const Json& object, std::initializer_list<std::string_view> keys,
                    std::string_view absent);
/// A finite number above 0.
double number_at(const Json& object, std::string_view key, double absent);

}  // namespace config_keys

}  // namespace bert
