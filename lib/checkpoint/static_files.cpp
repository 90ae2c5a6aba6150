#include "checkpoint/static_files.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/model_dir.h"
#include "checkpoint/tensor_files.h"
#include "model/static_config.h"

namespace bert {
namespace {

/// Whether the weights are model2vec's, for a config.json without model_type: StaticModel writes
/// none where nobody names the kind.
bool has_table(const std::string& directory) {
  try {
    if (!tensor_files_present(directory)) return false;
    const TensorFiles files = open_tensor_files(directory);
    return std::any_of(files.tensors.begin(), files.tensors.end(),
                       [](const TensorView& tensor) { return tensor.name == kStaticVectors; });
  } catch (const Error&) {  // told by those who need the weights
    return false;
  }
}

}  // namespace

std::optional<StaticFiles> StaticFiles::find(const std::string& directory) {
  const auto folder = SentenceModules::find_static_folder(directory);
  if (!folder || *folder == directory) {
    const auto config = StaticConfig::find(directory);
    if (config && (config->named || has_table(directory))) {
      return StaticFiles{Kind::model2vec, directory, config->normalize, config->max_length};
    }
  }
  if (!folder) return std::nullopt;
  return StaticFiles{Kind::static_embedding, *folder, false, std::nullopt};
}

}  // namespace bert
