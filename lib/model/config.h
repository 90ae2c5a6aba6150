#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/family.h"
#include "ops/linear.h"

namespace bert {

/// What config.json says of a head.
struct HeadConfig {
  std::vector<std::string> architectures;
  std::string
      problem_type;  ///< "", regression, single_label_classification, multi_label_classification
  std::vector<std::string> labels;  ///< id2label in id order; LABEL_0.. when the file names none
  bool labels_named = false;        ///< id2label is in the file
};

/// One of several heads over the trunk of one directory (bert-model(5), "Heads").
struct NamedHead : HeadConfig {
  std::string name;
  std::string task;  ///< as transformers' pipelines call it: text-classification ..
};

/// config.json of a BERT-family model, with Hugging Face's field names. A family's own names (such
/// as DistilBERT's dim, n_layers, n_heads) are read into the same fields.
struct BERT_API Config : HeadConfig {
  std::string path;                            ///< the file, for messages
  const Family* family = &families().front();  ///< by model_type; BERT until a file is read

  size_t vocab_size = 0;                      ///< V
  size_t hidden_size = 0;                     ///< H
  size_t embedding_size = 0;                  ///< ELECTRA's; H otherwise
  size_t num_hidden_layers = 0;               ///< L
  size_t num_attention_heads = 0;             ///< A; D = H / A
  size_t intermediate_size = 0;               ///< I
  size_t max_position_embeddings = 0;         ///< P, rows of the position table; see max_tokens()
  size_t type_vocab_size = 0;                 ///< 0: no token type table (DistilBERT)
  size_t relative_attention_num_buckets = 0;  ///< 0: no bias by relative position (MPNet has)
  float layer_norm_eps = 1e-12f;
  Activation hidden_act = Activation::gelu;
  std::string hidden_act_name;
  bool tie_word_embeddings = true;
  // For training, which checks them; NaN: the file has no number there.
  double initializer_range = 0.02;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  double classifier_dropout = 0.1;  ///< before a classifier
  double answers_dropout = 0;       ///< before a head that finds answers
  int32_t pad_token_id = 0;
  /// The class of torch.nn that a CrossEncoder's logits go through; "": the file names none.
  std::string score_function;
  std::vector<std::string> missing_sizes;  ///< keys that the file lacks; BERT base's stand there
  std::vector<NamedHead> heads;            ///< bertutils_heads, in the order of the file

  size_t head_size() const { return hidden_size / num_attention_heads; }  ///< D
  /// How many tokens a text may have.
  size_t max_tokens() const {
    const size_t first = family->first_position;
    return max_position_embeddings > first ? max_position_embeddings - first : 0;
  }
  /// The activation of the masked LM head.
  Activation mlm_act() const { return family->mlm_act.value_or(hidden_act); }

  /// Reads and checks config.json in `directory`. Throws Error: no_input, data (broken JSON),
  /// unsupported (a value out of range or another kind of model) naming key, value and rule.
  static Config open(const std::string& directory);
  /// The same of a text; `path` stands for the file in messages.
  static Config parse(std::string_view json, const std::string& path);

  /// Throws Error(data) naming the sizes that the file lacks. Weights do not tell how many heads or
  /// layers belong to them: a model of the wrong ones gives numbers that look right.
  void require_sizes() const;
  /// nullptr if the file names no such head.
  const NamedHead* find_head(std::string_view name) const;
};

/// The activation that a class of torch.nn stands for, by its whole name
/// (torch.nn.modules.activation.Tanh, torch.nn.Tanh); nullopt of one that we lack.
std::optional<Activation> torch_activation(std::string_view name);

/// Whether it can be a part of tensors' names and a word of a command line.
bool is_head_name(std::string_view name);

}  // namespace bert
