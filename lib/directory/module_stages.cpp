#include "directory/module_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"

namespace bert {
namespace {

struct Name {
  std::string_view name, file;
  Stage stage;
  std::string_view kind = "sentence_transformer";  ///< the class that has such a module
};
constexpr std::string_view kSparse = "sparse_encoder";
constexpr Name kNames[] = {
    {"Transformer", "transformer", Stage::transformer},
    {"StaticEmbedding", "static_embedding", Stage::static_embedding},
    {"WeightedLayerPooling", "weighted_layer_pooling", Stage::layers},
    {"CNN", "cnn", Stage::cnn},
    {"Pooling", "pooling", Stage::pooling},
    {"Dense", "dense", Stage::dense},
    {"LayerNorm", "layer_norm", Stage::norm},
    {"Normalize", "normalize", Stage::normalize},
    {"Dropout", "dropout", Stage::dropout},
    {"MLMTransformer", "mlm_transformer", Stage::masked_lm, kSparse},
    {"SpladePooling", "splade_pooling", Stage::splade, kSparse},
    {"SparseStaticEmbedding", "sparse_static_embedding", Stage::sparse_static, kSparse},
    {"LogitScore", "logit_score", Stage::logit_score, "cross_encoder"},
    {"Router", "router", Stage::router},
    {"Asym", "router", Stage::router}};

}  // namespace

std::string stage_names() {
  std::string list;
  for (const Name& name : kNames) list.append(name.name).append(", ");
  return list + "MultiVectorMask";
}

std::optional<Stage> stage_of(std::string_view type) {
  if (type == kPylateDense) return Stage::dense;
  if (type == "sentence_transformers.multi_vector_encoder.modules.MultiVectorMask" ||
      type ==
          "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask."
          "MultiVectorMask") {
    return Stage::mask;
  }
  const std::string_view name = type.substr(type.rfind('.') + 1);
  for (const auto& [known, file, stage, kind] : kNames) {
    if (name != known) continue;
    const std::string old = kind == kSparse ? "sparse_encoder.models" : "models";
    const std::string spellings[] = {
        fmt::format("sentence_transformers.{}.{}", old, name),
        fmt::format("sentence_transformers.{0}.{1}.{1}", old, name),
        fmt::format("sentence_transformers.base.modules.{}", name),
        fmt::format("sentence_transformers.base.modules.{}.{}", file, name),
        fmt::format("sentence_transformers.{}.modules.{}", kind, name),
        fmt::format("sentence_transformers.{}.modules.{}.{}", kind, file, name)};
    if (std::find(std::begin(spellings), std::end(spellings), type) != std::end(spellings)) {
      return stage;
    }
  }
  return std::nullopt;
}

bool module_flag(const Json& root, std::string_view key, bool absent) {
  const auto value = root.find(key);
  return value && !value->is_null() ? value->as_bool() : absent;
}

std::string module_folder(const Json& path) {
  const std::string_view relative = path.as_string();
  if (relative == ".") return "";
  if (relative.starts_with('/') || relative.find("..") != std::string_view::npos ||
      relative.find('\0') != std::string_view::npos) {
    throw Error(Error::Kind::data, path.where(),
                fmt::format("found {}, wants a folder in the model's directory", path.describe()));
  }
  return std::string(relative);
}

}  // namespace bert
