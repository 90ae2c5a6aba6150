#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hub/listing.h"

namespace bert {

/// The files of a model that the tools read.
struct Selection {
  std::vector<RemoteFile> files;
  std::vector<std::string> notices;  ///< what the user should know of them
  /// The model that has the tokenizer, or the config, of a GLiNER without them; empty: none.
  std::string encoder = {};
};

/// The content of a small file that says which others are wanted.
using ReadRemote = std::function<std::string(const RemoteFile&)>;

/// Config, tokenizer and sentence-transformers modules, with the folders that modules.json names;
/// and in each folder the weights that the tools would take: model.safetensors, whole or in shards,
/// else pytorch_model.bin. Throws Error: unsupported if it is no model of the tools, data if an
/// index names a file that is missing.
Selection select_files(const Listing& listing, const ModelName& model, const ReadRemote& read);
/// Its config and tokenizer alone.
Selection select_tokenizer(const Listing& listing);

}  // namespace bert
