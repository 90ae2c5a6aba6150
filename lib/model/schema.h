#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/config.h"
#include "model/heads.h"

namespace bert {

/// The modules of a model that have tensors, encoder first.
enum class Role : uint8_t {
  word_embeddings,
  position_embeddings,
  token_type_embeddings,
  task_type_embeddings,
  embedding_norm,
  embedding_projection,     ///< from E to H
  relative_attention_bias,  ///< [buckets, A], one for all layers
  relative_embeddings,      ///< [2 span, H] vectors of distances (DeBERTa), one for all layers
  relative_norm,            ///< layer norm over the vectors of distances
  convolution,              ///< behind the first layer: [H, H / groups, K]
  convolution_norm,
  bottleneck,  ///< from H to B, what attention is added to
  bottleneck_norm,
  shared_bottleneck,  ///< from H to B, what queries and keys read
  shared_bottleneck_norm,
  query,
  key,
  value,
  query_norm,  ///< over each head of queries, one for all heads
  key_norm,
  position_key,    ///< from vectors of distances to keys
  position_query,  ///< and to queries
  distance_bias,   ///< [buckets, A] of a layer (T5)
  attention_output,
  attention_norm,       ///< behind attention and its residual, or before it
  attention_exit_norm,  ///< behind attention, before its residual, where norms stand around
  cross_query,          ///< attention of a decoder to its source
  cross_key,
  cross_value,
  cross_output,
  cross_norm,
  first_intermediate,  ///< up to three feed-forward nets before the one that all layers have
  first_output,
  first_output_norm,
  second_intermediate,
  second_output,
  second_output_norm,
  third_intermediate,
  third_output,
  third_output_norm,
  intermediate,  ///< the gate, in a gated feed-forward net
  up,            ///< the product's other factor, in a gated feed-forward net
  output,
  output_norm,       ///< behind the feed-forward net and its residual, or before it
  output_exit_norm,  ///< behind the feed-forward net, before its residual
  bottleneck_exit,   ///< from B to H
  bottleneck_exit_norm,
  final_norm,  ///< behind the last layer, where norms stand before
  pooler,
  mlm_dense,
  mlm_norm,
  mlm_decoder,
  mlm_rest,  ///< [H - E, V] the columns of the decoder that the word table has not
  mlm_bias,  ///< one number per token, added to the masked LM's logits
  next_sentence,
  head_dense,  ///< the dense layer of TextHead::transform
  head_norm,
  classifier_dense,   ///< before classifier_output
  classifier_output,  ///< labels of a text, where the pooler is not what is read
  score,              ///< labels of a text, where the last hidden state is what is read
  classifier,         ///< labels of a text, over the pooler, or labels of tokens
  bilstm,  ///< net before the labels of tokens; its tensors have torch's names (CellNames)
  bilstm_classifier,  ///< labels of tokens, over the net
  qa_outputs,
  discriminator_dense,
  discriminator,
  pooling_hidden,      ///< W of attentive pooling
  pooling_hops,        ///< V: a row for each hop
  pooling_classifier,  ///< labels of a text, over all hops
};

/// Which tensor of its module.
enum class Part : uint8_t { weight, bias };

/// What it holds before it has learned anything. Weight decay is for what is drawn.
enum class Initial : uint8_t { drawn, ones, zeros };

/// A tensor of a model.
struct TensorSpec {
  std::string name;  ///< canonical, see checkpoint/weights.h
  std::vector<size_t> shape;
  Role role = Role::word_embeddings;
  Part part = Part::weight;
  int32_t depth = 0;  ///< 0 embeddings, 1 .. L layers, L + 1 heads and the pooler
  Initial initial = Initial::drawn;
  bool required = true;    ///< a model without it cannot be computed
  bool quantized = false;  ///< computed with in the model's precision; all others as floats
  bool joins = false;      ///< one matrix with the same part of the module before it

  uint64_t count() const;
};

/// Query, key and value, which are one matrix to the product.
inline constexpr Role kQueryKeyValue[] = {Role::query, Role::key, Role::value};
/// What a decoder makes of each vector of its source.
inline constexpr Role kCrossKeyValue[] = {Role::cross_key, Role::cross_value};
/// The two of a gated net, which are one, too.
inline constexpr Role kGateUp[] = {Role::intermediate, Role::up};

/// All that a layer of BERT has.
inline constexpr Role kLayerRoles[] = {
    Role::query,          Role::key,          Role::value,  Role::attention_output,
    Role::attention_norm, Role::intermediate, Role::output, Role::output_norm};

/// The canonical name; `layer` from 0, of what stands in layers.
BERT_API std::string tensor_name(Role role, Part part = Part::weight, size_t layer = 0);
/// The module's name, in layers that behind the layer's number.
std::string_view module_name(Role role);
/// The last word of a module's name: word_embeddings, LayerNorm.
std::string_view module_word(Role role);
/// The role of a tensor by its canonical name, without a head_prefix.
BERT_API std::optional<Role> role_of(std::string_view canonical_name);

/// Whether a model of this config has the module, in layer `layer` if it is one of layers; of
/// heads' own: true.
bool has_module(const Config& config, Role role, size_t layer = 0);
/// What a norm of the family computes.
NormKind norm_kind(const Family& family, Role role);
/// Whether the module has this part.
bool has_part(const Config& config, Role role, Part part);
/// One tensor; the module must have such a part.
BERT_API TensorSpec tensor_spec(const Config& config, Role role, Part part = Part::weight,
                                size_t layer = 0);

/// All tensors of a module.
std::vector<TensorSpec> module_tensors(const Config& config, Role role, size_t layer = 0);

/// The tensors of the encoder that `config` describes, from the embeddings up, and of its pooler,
/// which is not required: what transformers' BertModel, DistilBertModel and ElectraModel have.
/// 109,482,240 numbers for bert-base-uncased.
BERT_API std::vector<TensorSpec> encoder_tensors(const Config& config);
/// The sum of their counts.
BERT_API uint64_t count_parameters(std::span<const TensorSpec> tensors);

/// Several modules' tensors, one behind the other by rows, may be one tensor of a file: query, key
/// and value of a layer, or the two of a gated net. What the tensor of that name has, in the order
/// of its rows; empty if it is none. Names may be the file's or canonical.
std::vector<std::string> joined_parts(std::string_view name);
/// Whether that tensor's rows are head by head: a head's query, key and value, then the next one's.
bool is_joined_by_heads(std::string_view name);
/// The inverse of joined_parts: the name of the tensor that has the one of this name and its
/// neighbours, as `quantize` joins them; else empty.
std::string joined_whole(std::string_view part_name, const Config& config);
/// All tensors that may have it, but for those that have it head by head.
std::vector<std::string> joined_wholes(std::string_view part_name);
/// Whether it is part of the encoder, by its canonical name: embeddings and layers.
BERT_API bool is_encoder_tensor(std::string_view canonical_name);
/// Whether old files have it beside the weights, and nothing reads it.
bool is_buffer(std::string_view canonical_name);

}  // namespace bert
