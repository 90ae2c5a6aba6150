#include "directory/foreign_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "directory/file_names.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

bool is_here(const std::string& directory, std::string_view name) {
  return entry_exists(fmt::format("{}/{}", directory, name));
}

/// The names in a directory, sorted; none if it cannot be read.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool holds_config(const std::string& directory) {
  return std::any_of(std::begin(kModelFiles), std::end(kModelFiles), [&](const ModelFile& file) {
    return marks_model(file.name) && is_here(directory, file.name);
  });
}

}  // namespace

std::string foreign_weights(const std::string& directory) {
  for (const char* known :
       {"tf_model.h5", "flax_model.msgpack", "model.ckpt.index", "bert_model.ckpt.index",
        "model.onnx", "onnx/model.onnx", "openvino_model.xml", "openvino/openvino_model.xml",
        "model.pt", "model.pth"}) {
    if (is_here(directory, known)) return known;
  }
  constexpr std::string_view kEndings[] = {".gguf",    ".onnx", ".tflite", ".h5",
                                           ".msgpack", ".ot",   ".ckpt"};
  for (const std::string& name : names_in(directory)) {
    for (const std::string_view ending : kEndings) {
      if (name.ends_with(ending)) return name;
    }
  }
  return "";
}

std::vector<std::string> models_inside(const std::string& directory) {
  std::vector<std::string> folders;
  for (const std::string& name : names_in(directory)) {
    const std::string folder = fmt::format("{}/{}", directory, name);
    if (holds_config(folder)) folders.push_back(folder);
    if (name != "snapshots") continue;
    for (const std::string& snapshot : names_in(folder)) {
      if (holds_config(folder + "/" + snapshot)) folders.push_back(folder + "/" + snapshot);
    }
  }
  return folders;
}

void refuse_no_model(const std::string& directory) {
  const auto of_tokenizer = [&](const ModelFile& file) {
    return is_tokenizer_file(file) && is_here(directory, file.name);
  };
  if (holds_config(directory) ||
      std::any_of(std::begin(kModelFiles), std::end(kModelFiles), of_tokenizer)) {
    return;
  }
  if (const std::string other = foreign_weights(directory); !other.empty()) {
    throw Error(Error::Kind::no_input, directory,
                fmt::format("has no config.json; {} cannot be read, wants the directory that "
                            "save_pretrained of PyTorch's transformers writes",
                            printable(other)));
  }
  const std::vector<std::string> models = models_inside(directory);
  if (models.empty()) return;
  const std::string more =
      models.size() > 1 ? fmt::format(", others in {} more", models.size() - 1) : "";
  throw Error(Error::Kind::no_input, directory,
              fmt::format("has no config.json; a model is in {}{}, wants that directory",
                          printable(models[0]), more));
}

}  // namespace bert
