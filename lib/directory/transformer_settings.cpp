#include "directory/transformer_settings.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/json.h"

namespace bert {
namespace {

constexpr size_t kMostTokens = 1 << 20;

/// A member of members; nullopt where it is missing or null.
std::optional<Json> find_path(Json value, const std::vector<std::string_view>& keys) {
  for (const std::string_view key : keys) {
    const auto member = value.is_object() ? value.find(key) : std::nullopt;
    if (!member || member->is_null()) return std::nullopt;
    value = *member;
  }
  return value;
}

/// Where the limit of a text stands. sentence-transformers takes the first that it finds.
void read_length(const Json& root, TransformerSettings& settings) {
  const std::vector<std::string_view> places[] = {{"processing_kwargs", "text", "max_length"},
                                                  {"processing_kwargs", "common", "max_length"},
                                                  {"tokenizer_args", "model_max_length"},
                                                  {"processor_kwargs", "model_max_length"},
                                                  {"max_seq_length"}};
  for (const auto& keys : places) {
    const auto value = find_path(root, keys);
    if (!value) continue;
    const auto number = value->try_int();
    if (!number || *number < 1 || *number > static_cast<int64_t>(kMostTokens)) {
      throw Error(Error::Kind::unsupported, value->where(),
                  fmt::format("found {}, wants a whole number from 1 to {}", value->describe(),
                              kMostTokens));
    }
    settings.max_length = static_cast<size_t>(*number);
    settings.max_length_key = std::string(keys.back());
    return;
  }
}

}  // namespace

const JsonDocument* transformer_settings(const ModelDirectory& directory) {
  for (const ModelFile& file : kModelFiles) {
    if (file.role != FileRole::transformer) continue;
    if (const JsonDocument* document = directory.find(file.name)) return document;
  }
  return nullptr;
}

TransformerSettings TransformerSettings::open(const ModelDirectory& directory) {
  TransformerSettings settings;
  const JsonDocument* document = transformer_settings(directory);
  if (!document) return settings;
  const Json root = document->root();
  settings.path = root.where();
  read_length(root, settings);
  if (const auto lower = find_path(root, {"do_lower_case"})) {
    settings.do_lower_case = lower->as_bool();
  }
  if (const auto task = find_path(root, {"transformer_task"})) {
    settings.of_logits = task->as_string() == "fill-mask";
  }
  return settings;
}

}  // namespace bert
