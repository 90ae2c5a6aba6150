#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"
#include "directory/module_layer.h"
#include "directory/transformer_settings.h"

namespace bert {

/// How the logits of a masked LM head become a sparse vector of the vocabulary (SPLADE; Formal et
/// al. 2021): over the tokens the largest weight log(1 + relu(logit)), or their sum.
struct SpladePooling {
  bool sum = false;        ///< else the maximum (SPLADE v2)
  bool log_twice = false;  ///< a weight is log(1 + log(1 + relu(logit)))
};

/// sentence-transformers' modules.json and the files it names; defaults if there is none.
struct BERT_API SentenceModules {
  using Dense = ModuleLayer;
  bool present = false;
  std::optional<std::string> static_folder;  ///< folder of a StaticEmbedding; see StaticFiles
  std::vector<std::string> pooling_modes{
      "mean"};  ///< cls mean max mean_sqrt_len_tokens weightedmean lasttoken, concatenated;
                ///< empty: modules.json has no Pooling
  bool include_prompt = true;
  /// Weights of the hidden states from layer `first` on, of whose mean a token's state is made.
  struct LayerMean {
    size_t first = 0;
    std::vector<float> weights;
  };
  std::optional<LayerMean> layer_mean;
  std::vector<Dense> token_layers;  ///< over each token's state, before the pooling
  std::vector<Dense> dense;
  /// Tokens whose logits, the first less the second, are the score of a pair (LogitScore), which
  /// the model reads through a PairTemplate.
  struct LogitScore {
    int64_t yes = 0;
    std::optional<int64_t> no;
  };
  std::optional<LogitScore> logit_score;
  bool scores = false;  ///< the last layer gives the score of a pair (CrossEncoder), not a vector
  bool normalize = false;
  /// Dense and Normalize work on the vector of each token (ColBERT); see LateInteraction.
  bool of_tokens = false;
  std::optional<std::string> mask_config;    ///< the config.json of a MultiVectorMask
  std::optional<SpladePooling> splade;       ///< the model's vectors are sparse
  std::optional<std::string> sparse_folder;  ///< folder of a SparseStaticEmbedding; see SparseTable
  bool of_logits = false;                    ///< its first module gives those of a masked LM head
  TransformerSettings settings;
  std::optional<size_t> truncate_dim;  ///< so many numbers of a vector, the first, are given
  std::map<std::string, std::string> prompts;
  std::vector<std::string> routes;  ///< names of routes (Router), with a prompt or without
  std::string default_prompt_name;
  std::string similarity = "cosine";  ///< cosine, dot, euclidean or manhattan
  std::vector<std::string> files;     ///< paths of the JSON files that were read, in that order

  /// The text of a prompt; without a name of the default one, "" if there is none. Throws
  /// Error(usage).
  std::string prompt(const std::string& name = "") const;
  /// Whether each layer is as wide as the vectors that reach it, for a model of this
  /// hidden size. Throws Error(data) naming the file and both widths.
  void check_widths(size_t hidden_size) const;
  /// Whether a tokenizer that lower-cases, or not, does what do_lower_case asks for. Throws
  /// Error(unsupported): the reference lower-cases the text before such a tokenizer.
  void check_case(bool lowercases) const;
  /// Whether settings.max_length leaves room beside the special tokens of a text. Throws
  /// Error(data).
  void check_length(size_t special_tokens) const;
  /// Throws Error: data or no_input for a broken or missing file, unsupported for a module we lack.
  static SentenceModules open(const ModelDirectory& directory);
};

}  // namespace bert
