#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "model/config.h"
#include "model/heads.h"

namespace bert {

/// Which head of a directory is meant. Without a name, of those that are for this task: the named
/// one that is the default, else the one that stands in the directory without name (as in every
/// directory of transformers), else the first named one.
struct HeadChoice {
  std::string name;
  std::optional<HeadKind> kind;  ///< none: any
};

/// A model's config and weights with a head chosen: the config says what that head's own
/// config.json would say, and tensors are found as that head has them.
struct BERT_API Checkpoint {
  Config config;
  Weights weights;
  std::string head;  ///< "": none of the named ones

  /// Throws Error as ModelDirectory::config and open_weights do; usage if there is no head of that
  /// name, or if it is for another task.
  static Checkpoint open(const ModelDirectory& directory, const HeadChoice& choice = {});
};

/// Whether the directory holds a head of this kind without a name.
bool has_plain_head(const Config& config, const Weights& weights, HeadKind kind);

/// Throws Error(data) that names the head if the model lacks it; see readers.h for the tools then.
BERT_API void require_head(const Config& config, const Weights& weights, HeadKind kind);

/// "mlm-fill, mlm-score, ": the tools for the heads that a model has, for messages; "": none.
BERT_API std::string heads_that_work(const Config& config, const Weights& weights);

}  // namespace bert
