#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "io/json.h"

namespace bert {

/// The modules of sentence-transformers that we know, in the order in which modules.json has them.
/// Those from masked_lm on are of sparse models.
enum class Stage {
  start,
  transformer,
  layers,
  cnn,
  pooling,
  dense,
  norm,  ///< a layer norm, among the dense ones
  normalize,
  logit_score,
  dropout,
  mask,
  static_embedding,
  router,
  masked_lm,
  splade,
  sparse_static
};

/// The type of PyLate's module, which scales vectors of tokens to length 1 too.
constexpr std::string_view kPylateDense = "pylate.models.Dense.Dense";

/// The module that a type names as sentence-transformers 0.3 to 6 spell it, the whole of it: other
/// packages have modules of the same last name that do something else.
BERT_API std::optional<Stage> stage_of(std::string_view type);

/// The names of all but those of PyLate, for messages.
std::string stage_names();

/// A flag of a module's config.json; `absent` where it is missing or null. Throws Error(data).
bool module_flag(const Json& root, std::string_view key, bool absent);

/// The folder that a module's path names, relative to the model's directory; "": that itself.
/// Throws Error(data) for a path that leads out of it.
std::string module_folder(const Json& path);

}  // namespace bert
