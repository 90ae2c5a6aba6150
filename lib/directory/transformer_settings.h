#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "directory/model_directory.h"

namespace bert {

/// What the file of sentence-transformers' Transformer says (FileRole::transformer).
struct TransformerSettings {
  std::string path;  ///< place of the file; empty: there is none
  /// The tokens of a text. They hold instead of the tokenizer's model_max_length.
  std::optional<size_t> max_length;
  std::string max_length_key;  ///< the key that says it
  std::optional<bool> do_lower_case;
  std::optional<bool> of_logits;  ///< whether it gives the logits of its masked LM head

  /// "max_seq_length of FILE", for messages.
  std::string max_length_source() const { return max_length_key + " of " + path; }
  /// Throws Error(data) or Error(unsupported) for a value that is none.
  static TransformerSettings open(const ModelDirectory& directory);
};

/// The file itself; nullptr: there is none.
const JsonDocument* transformer_settings(const ModelDirectory& directory);

}  // namespace bert
