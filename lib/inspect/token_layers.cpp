#include "inspect/token_layers.h"

#include <fmt/format.h>

#include "directory/file_names.h"
#include "directory/token_layer.h"

namespace bert {

std::vector<std::string> token_layers(const ModelDirectory& directory, const Config& config) {
  std::vector<std::string> lines;
  for (const ModelFile& file : kModelFiles) {
    if (file.role != FileRole::layers) continue;
    const auto layer = find_token_layer(directory, file.name, config.hidden_size);
    if (!layer) continue;
    lines.push_back(fmt::format("{}: {}", file.name,
                                file.name == file_names::kSparseLayer
                                    ? "a weight for each token (`sparse` of embed)"
                                    : fmt::format("vectors of {} numbers for each token (`maxsim` "
                                                  "of rank)",
                                                  layer->out_features)));
  }
  return lines;
}

}  // namespace bert
