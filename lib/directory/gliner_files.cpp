#include "directory/gliner_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/find_model.h"
#include "io/json_writer.h"
#include "io/mapped_file.h"
#include "model/config_keys.h"
#include "model/entity_encoder.h"

namespace bert {
namespace {

std::string path_of(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

bool holds_tokenizer(const std::string& folder) {
  return std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& file) {
    return is_tokenizer_file(file) && file_exists(path_of(folder, file.name));
  });
}

/// Whether the package looks up what this key has.
bool looked_up(const Json& root, std::string_view key) {
  const auto value = config_keys::find(root, {key});
  return !value || value->try_int() == -1;
}

}  // namespace

bool GlinerFiles::stand_in(const std::string& folder) {
  return entry_exists(path_of(folder, file_names::kGliner));
}

GlinerFiles::GlinerFiles(std::string folder)
    : folder_(std::move(folder)),
      document_(JsonDocument::open(path_of(folder_, file_names::kGliner))),
      head_(OpenEntities::read(document_.root())),
      own_tokenizer_(holds_tokenizer(folder_)) {
  const auto own = config_keys::find(root(), {"encoder_config"});
  if (own && !own->is_object()) config_keys::refuse(*own, "an object");
  own_config_ = own.has_value();
  counts_rows_ =
      !own_config_ || looked_up(root(), "vocab_size") || looked_up(root(), "class_token_index");
}

bool GlinerFiles::borrows(std::string_view name) const {
  if (name == file_names::kConfig) return !own_config_;
  const auto known = std::find_if(std::begin(kModelFiles), std::end(kModelFiles),
                                  [&](const ModelFile& file) { return file.name == name; });
  return !own_tokenizer_ && known != std::end(kModelFiles) && is_tokenizer_file(*known);
}

const std::string& GlinerFiles::encoder() const {
  std::call_once(found_, [&] {
    if (head_.encoder.empty()) {
      throw Error(Error::Kind::no_input, folder_,
                  "has no tokenizer, and gliner_config.json names no model (model_name) that has");
    }
    try {
      encoder_ = resolve_model(head_.encoder);
    } catch (const Error& error) {
      throw Error(error.kind(), folder_,
                  fmt::format("takes {} from its encoder {}",
                              own_tokenizer_ ? "the config" : "the tokenizer", error.what()));
    }
  });
  return encoder_;
}

JsonDocument GlinerFiles::encoder_config() const {
  if (!own_config_) return JsonDocument::open(path_of(encoder(), file_names::kConfig));
  std::string text;
  const Json config = root().at("encoder_config");
  if (config_keys::find(config, {"model_type"})) {
    append_json(text, config);
  } else {
    text = fmt::format("{{\"model_type\": \"{}\"", entity_encoder().model_type);
    config.for_each_member([&](std::string_view key, Json value) {
      if (key == "model_type") return;
      text += ", " + json_string(key) + ": ";
      append_json(text, value);
    });
    text += "}";
  }
  return JsonDocument::parse(text, path_of(folder_, file_names::kGliner));
}

}  // namespace bert
