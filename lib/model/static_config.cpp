#include "model/static_config.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/json.h"

namespace bert {
namespace {

constexpr size_t kDefaultLength = 512;  // of model2vec, where the file says nothing
constexpr int64_t kMostLength = INT32_MAX;

}  // namespace

std::optional<StaticConfig> StaticConfig::read(const Json& root) {
  if (!root.is_object()) return std::nullopt;
  StaticConfig config;
  if (const auto type = root.find("model_type"); type && !type->is_null()) {
    if (!type->is_string() || type->as_string() != "model2vec") return std::nullopt;
    config.named = true;
  } else if (root.find("hidden_size")) {
    return std::nullopt;  // an old model with layers
  }
  if (const auto value = root.find("normalize"); value && !value->is_null()) {
    if (value->type() != Json::Type::boolean) {
      throw Error(Error::Kind::unsupported, value->where(),
                  fmt::format("found {}, wants true or false", value->describe()));
    }
    config.normalize = value->as_bool();
  }
  config.max_length = kDefaultLength;
  if (const auto value = root.find("max_length")) {
    const auto length = value->try_int();
    if (!value->is_null() && (!length || *length < 1 || *length > kMostLength)) {
      throw Error(Error::Kind::unsupported, value->where(),
                  fmt::format("found {}, wants a whole number from 1 to {}, or null",
                              value->describe(), kMostLength));
    }
    config.max_length = length ? std::optional<size_t>(*length) : std::nullopt;
  }
  return config;
}

}  // namespace bert
