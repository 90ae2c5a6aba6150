#include "model/static_config.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/json.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

constexpr size_t kDefaultLength = 512;  // of model2vec, where the file says nothing
constexpr int64_t kMostLength = INT32_MAX;

/// A file that is not there, or that those who need it will refuse.
std::optional<JsonDocument> open_or_not(const std::string& path) {
  try {
    if (file_exists(path)) return JsonDocument::open(path);
  } catch (const Error&) {
  }
  return std::nullopt;
}

bool names_static_embedding(const Json& modules) {
  bool first = true, found = false;
  if (!modules.is_array()) return false;
  modules.for_each_element([&](Json module) {
    const auto type = first && module.is_object() ? module.find("type") : std::nullopt;
    found = found || (type && type->is_string() && type->as_string().ends_with(".StaticEmbedding"));
    first = false;
  });
  return found;
}

}  // namespace

std::optional<StaticConfig> StaticConfig::find(const std::string& directory) {
  const auto document = open_or_not(directory + "/config.json");
  if (!document || !document->root().is_object()) return std::nullopt;
  const Json root = document->root();
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

void refuse_static_vectors(const std::string& directory) {
  const auto config = StaticConfig::find(directory);
  const auto modules = open_or_not(directory + "/modules.json");
  if ((config && config->named) || (modules && names_static_embedding(modules->root()))) {
    throw_static_vectors(directory);
  }
}

void throw_static_vectors(const std::string& directory) {
  throw Error(
      Error::Kind::unsupported, directory,
      "static vectors, a table without layers and heads; embed, tokenize and bert-info work "
      "with it");
}

}  // namespace bert
