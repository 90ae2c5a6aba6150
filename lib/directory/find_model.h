#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/export.h"

namespace bert {

class Adapter;

/// Where the model directory is that the user means. `name` is -m's argument or empty.
///   1. an existing directory   2. NAME among installed models ($BERT_MODEL_PATH,
///   $XDG_DATA_HOME/bert/models, the toolkit's own share/bert/models)   3. `org/name` or `name` in
///   the Hugging Face cache
/// With an empty name: $BERT_MODEL, else the default model that comes with the toolkit.
/// Throws Error(no_input) that says what to do. Never touches the network.
BERT_API std::string resolve_model(const std::string& name);

struct ResolvedModel {
  std::string directory;
  std::shared_ptr<const Adapter> adapter = nullptr;  ///< that changes the model; nullptr: none
};
/// The same, of an adapter's directory without a model of its own the one that the adapter names.
/// `adapter`, a directory or a name too, is another that changes the model; empty: none. Throws
/// Error(unsupported) for an adapter of an adapter.
ResolvedModel resolve_model(const std::string& name, const std::string& adapter);

/// A name that resolve_model finds, and where.
struct InstalledModel {
  std::string name;
  std::string directory;  ///< empty: in the Hugging Face cache, but no snapshot of it can be used
};
/// The installed models, then `org/name` or `name` of those in the Hugging Face cache. Sorted; none
/// twice. What cannot be read is left out.
BERT_API std::vector<InstalledModel> installed_models();

}  // namespace bert
