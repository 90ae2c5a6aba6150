#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/embedder.h"

namespace bert::tools {

/// The options of embed that say what its vectors are and how they are written.
struct EmbedOptions {
  VectorOptions vector;
  std::string prompt, prompt_name, spans, whiten, learn;
  std::optional<double> scale;
  bool no_special = false, normalize = false, words = false, compare = false;
  bool sparse = false, ids = false;
  size_t rows = 0, top_k = 0;
  VectorFormat format = VectorFormat::tsv;
};
void add_embed_options(Command& app, EmbedOptions& options);

/// Throws Error(usage) for options that do not go together or do not fit the model.
EmbedPlan make_plan(Embedder& embedder, const EmbedOptions& options);

/// Column names for --header; binary formats have none.
std::vector<std::string> column_names(const EmbedPlan& plan);

}  // namespace bert::tools
