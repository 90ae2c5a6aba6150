#pragma once

#include <optional>
#include <string_view>

#include "base/export.h"
#include "directory/sentence_modules.h"

namespace bert {

/// A layer over the state of each token, which lies beside the model in a file of its own: those of
/// BGE-M3 (Chen et al. 2024), file_names::kColbertLayer and kSparseLayer. None if there is no
/// such file. Throws Error that names the file: data if it has no weight [D, H] or no bias [D],
/// no_input if it is missing where another of these layers is.
BERT_API std::optional<SentenceModules::Dense> find_token_layer(const ModelDirectory& directory,
                                                                std::string_view file,
                                                                size_t hidden_size);
/// Whether any of these layers is here.
BERT_API bool has_token_layers(const ModelDirectory& directory);

}  // namespace bert
