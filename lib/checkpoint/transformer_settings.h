#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bert {

/// The names of the file with the settings of sentence-transformers' Transformer. The first one
/// that a directory has is read; the others are of old versions.
constexpr const char* kTransformerSettings[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

struct TransformerSettings {
  std::string path;  ///< of the file; empty: there is none
  /// The tokens of a text. They hold instead of the tokenizer's model_max_length.
  std::optional<size_t> max_length;
  std::string max_length_key;  ///< the key that says it
  std::optional<bool> do_lower_case;
  std::optional<bool> of_logits;  ///< whether it gives the logits of its masked LM head

  /// "max_seq_length of FILE", for messages.
  std::string max_length_source() const { return max_length_key + " of " + path; }
  /// Throws Error(data) or Error(unsupported) for a value that is none.
  static TransformerSettings open(const std::string& directory);
};

}  // namespace bert
