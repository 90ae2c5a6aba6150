#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "model/config.h"
#include "model/heads.h"

namespace bert {

struct SentenceModules;

/// What the modules of a directory make of a text, or of a pair of texts.
struct TextUse {
  std::string_view what;   ///< that is made, for people; empty: see pooling_modes
  std::string_view tools;  ///< that make it; empty: none
};

/// The row of the table that fits; the last row is of a vector for each text.
BERT_API const TextUse& use_of(const SentenceModules& modules);

/// As require_head of a checkpoint, of a model whose directory says what else works with it; that
/// of a model in memory is empty.
BERT_API void require_head(const ModelDirectory& directory, const Config& config,
                           const Weights& weights, HeadKind kind);

/// "embed, attend and tokenize work with it": the tools that read a directory, for messages, by its
/// heads, its modules and its kind. Each of them ends well with the directory.
BERT_API std::string tools_that_read(const ModelDirectory& directory, const Config& config,
                                     const Weights& weights);

}  // namespace bert
