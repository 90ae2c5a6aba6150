#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/family.h"
#include "model/open_entities.h"
#include "ops/linear.h"

namespace bert {

class Json;

/// A text's vector as weighted sums of its tokens' (Lin et al. 2017):
///   A [hops, n] = softmax(V tanh(W H^T)),   C [hops, H] = A H,   V [hops, size], W [size, H]
struct AttentivePoolingSizes {
  size_t hops = 0;  ///< 0: texts are not pooled so
  size_t size = 0;
  bool unit = false;  ///< C is scaled to length 1
};

/// A bidirectional LSTM between frozen layers and a classifier of tokens (Devlin et al. 2019, 5.3).
struct BilstmConfig {
  std::string layers;      ///< which hidden states it reads: a LayerExpression
  size_t hidden_size = 0;  ///< units of each direction; 0: the head has no such net
  size_t num_layers = 0;

  explicit operator bool() const { return hidden_size > 0; }
};

/// What config.json says of a head.
struct HeadConfig {
  std::vector<std::string> architectures;
  std::string
      problem_type;  ///< "", regression, single_label_classification, multi_label_classification
  std::vector<std::string> labels;  ///< id2label in id order; LABEL_0.. when the file names none
  bool labels_named = false;        ///< id2label is in the file
  AttentivePoolingSizes pooling;    ///< bertutils_pooling: of a classifier of texts
  BilstmConfig bilstm;              ///< bertutils_bilstm
  /// Of a head that finds answers, as in run_qa.py of transformers: no answer if the logit of "no
  /// answer" is above the best answer's by more. None: always an answer.
  std::optional<double> null_score_diff_threshold;
};

/// One of several heads over the trunk of one directory (bert-model(5), "Heads").
struct NamedHead : HeadConfig {
  std::string name;
  std::string task;        ///< as transformers' pipelines call it: text-classification ..
  bool preferred = false;  ///< `default`: taken before a head without a name
};

/// Angles of places that stand in a checkpoint: [D / 2] from one place to the next, or, of rotary
/// positions that turn neighbours, [P, D], D / 2 sines and D / 2 cosines of each place.
struct StoredTurns {
  std::string name;  ///< canonical name of the tensor
  std::vector<size_t> shape;
  std::vector<float> values;
};

/// Rotary positions (Su et al. 2021): value i of a query or key of D values is turned, together
/// with value D / 2 + i, by place * theta ^ (-2 i / D).
struct Rotary {
  double theta = 0;         ///< 0: no rotation
  double linear = 1;        ///< angles are divided by it
  bool neighbours = false;  ///< values 2i and 2i + 1 are turned together instead
  double ntk = 1;           ///< theta is multiplied by it, and angles divided by its power of 2 / D
  std::shared_ptr<const StoredTurns> stored = {};  ///< angles that stand for computed ones
  bool operator==(const Rotary&) const = default;
};

/// Disentangled attention (He et al. 2021, DeBERTa): scores have parts of content to position and
/// of position to content.
struct Disentangled {
  bool content_to_position = false, position_to_content = false;
  bool shared = false;      ///< positions go through the keys' and queries' own projections
  bool norm = false;        ///< layer norm over the position vectors
  size_t buckets = 0;       ///< distances share vectors by logarithm; 0: each has its own
  size_t max_distance = 0;  ///< that is told apart
  size_t span() const { return buckets > 0 ? buckets : max_distance; }  ///< vectors of one side
};

/// config.json of a BERT-family model, with Hugging Face's field names. A family's own names (such
/// as DistilBERT's dim, n_layers, n_heads) are read into the same fields.
struct BERT_API Config : HeadConfig {
  std::string path;                            ///< the file, for messages
  const Family* family = &families().front();  ///< by model_type; BERT until a file is read

  size_t vocab_size = 0;                      ///< V
  size_t hidden_size = 0;                     ///< H
  size_t embedding_size = 0;                  ///< ELECTRA's; H otherwise
  size_t output_embedding_size = 0;           ///< width of the masked LM's decoder; E otherwise
  size_t num_hidden_layers = 0;               ///< L
  size_t num_attention_heads = 0;             ///< A
  size_t num_key_value_heads = 0;             ///< K, of A a divisor; A where nothing else is said
  size_t head_width = 0;                      ///< D; 0: H / A
  size_t query_scalar = 0;                    ///< Gemma's: scores are scaled by 1 / sqrt(it); 0: D
  size_t intermediate_size = 0;               ///< I
  size_t bottleneck_size = 0;                 ///< B, what layers compute in; 0: H
  size_t feed_forward_nets = 1;               ///< in a layer, one behind the other
  size_t max_position_embeddings = 0;         ///< P, rows of the position table; see max_tokens()
  size_t type_vocab_size = 0;                 ///< 0: no token type table (DistilBERT)
  size_t task_type_vocab_size = 0;            ///< ERNIE's tasks, of which the first is taken
  size_t relative_attention_num_buckets = 0;  ///< 0: no bias by relative position (MPNet has)
  size_t relative_attention_max_distance = 128;  ///< from here on all distances share a bucket
  size_t num_hidden_groups = 0;  ///< ALBERT's: layers of a group are one; 0: each is its own
  size_t inner_group_num = 1;    ///< layers in a group; num_hidden_layers counts each of their runs
  size_t max_window = 0;         ///< keys that a local layer sees: half of them before a token
  size_t conv_kernel_size = 0;   ///< width of DeBERTa's convolution behind the first layer; 0: none
  size_t conv_groups = 1;
  bool position_table = true;
  bool bidirectional = true;   ///< else a token sees none behind it
  bool task_types = false;     ///< ERNIE's: there is a vector for the task
  bool embedding_norm = true;  ///< where the family has one
  bool pooler_dense = true;    ///< else the pooler's output is what it reads
  /// Vectors of masks are zero, and the others of their text are scaled by the share that is left
  /// (ESM).
  bool token_dropout = false;
  int32_t mask_token_id = -1;   ///< for token_dropout
  int32_t eos_token_id = -1;    ///< for TextInput::last_end
  float embedding_scale = 1;    ///< that word vectors are multiplied by
  Rotary rotary, local_rotary;  ///< angles of layers that see all tokens, and of local layers
  std::vector<bool> local_layers = {};  ///< [L], or empty: which layers see near tokens only
  Disentangled disentangled;
  // Whether there are biases: of query, key, value and attention's output; of the feed-forward
  // net's two layers; of norms; of a head's dense layer; of the masked LM head's decoder.
  bool attention_bias = true, intermediate_bias = true, output_bias = true, norm_bias = true,
       head_bias = true, decoder_bias = true;
  float layer_norm_eps = 1e-12f;
  Activation hidden_act = Activation::gelu;
  std::string hidden_act_name;
  Activation pooler_act = Activation::tanh;
  Activation conv_act = Activation::tanh;
  Activation head_act = Activation::gelu;  ///< activation of TextHead::transform
  TextInput text_input = TextInput::first;
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
  OpenEntities open_entities;              ///< GLiNER's head
  bool any_length = false;  ///< a text may have more tokens than the positions that are told apart

  size_t layer_width() const { return bottleneck_size > 0 ? bottleneck_size : hidden_size; }
  size_t head_size() const {  ///< D
    return head_width > 0 ? head_width : layer_width() / num_attention_heads;
  }
  /// Scores are divided by its square root.
  size_t score_divisor() const {
    if (!family->scales_scores) return 1;
    const size_t parts = 1 + disentangled.content_to_position + disentangled.position_to_content;
    return (query_scalar > 0 ? query_scalar : head_size()) * parts;
  }
  /// The id of padding, if in a text it has no place of its own; -1: there is no such.
  int32_t padding_without_place() const {
    const bool has = position_table && first_position() > 0 && !family->padding_has_place;
    return has ? static_cast<int32_t>(first_position()) - 1 : -1;
  }
  /// The row of the position table that a text's first token has.
  size_t first_position() const {
    return family->first_behind_padding ? static_cast<size_t>(pad_token_id) + 1
                                        : family->first_position;
  }
  /// How many tokens a text may have.
  size_t max_tokens() const {
    if (any_length) return SIZE_MAX;
    const size_t first = position_table ? first_position() : 0;
    return max_position_embeddings > first ? max_position_embeddings - first : 0;
  }
  /// Layers that have tensors of their own.
  size_t stored_layers() const {
    return num_hidden_groups > 0 ? num_hidden_groups * inner_group_num : num_hidden_layers;
  }
  /// Which of these layer `layer` of a pass computes with, both from 0.
  size_t stored_layer(size_t layer) const;
  /// How many tokens away layer `layer` sees; SIZE_MAX: all.
  size_t window(size_t layer) const;
  /// The activation behind the dense layer of a classifier of texts.
  Activation text_head_act() const { return family->text_head_act.value_or(hidden_act); }
  /// The activation of the masked LM head.
  Activation mlm_act() const {
    if (family->text_head == TextHead::transform) return head_act;
    return family->mlm_act.value_or(hidden_act);
  }

  /// Reads and checks the root of config.json. `path` stands for the file in messages. Throws
  /// Error: data (broken JSON), unsupported (a value out of range or another kind of model) naming
  /// key, value and rule.
  static Config read(const Json& root, const std::string& path);
  /// The same of a text.
  static Config parse(std::string_view json, const std::string& path);
  /// The same of an object in a file, as a model of this family whatever its model_type says.
  static Config read(const Json& object, const std::string& path, const Family& family);

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
BERT_API bool is_head_name(std::string_view name);

}  // namespace bert
