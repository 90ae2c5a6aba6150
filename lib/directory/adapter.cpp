#include "directory/adapter.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "directory/file_names.h"

namespace bert {

std::string adapter_text(const Json& root) {
  std::string name = "a model that it does not name";
  for (const char* key : {"model_name", "base_model_name_or_path"}) {
    const auto base = root.is_object() ? root.find(key) : std::nullopt;
    if (base && base->is_string()) name = printable(base->as_string());
  }
  return fmt::format(
      "an adapter of {}, wants a whole model: merge them with merge_and_unload() of PEFT, then "
      "save_pretrained()",
      name);
}

void refuse_adapter(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, file_names::kAdapter);
  std::error_code error;  // whether the directory can be read, its other files tell
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return;
  const JsonDocument document = JsonDocument::open(path);
  throw Error(Error::Kind::unsupported, path, adapter_text(document.root()));
}

}  // namespace bert
