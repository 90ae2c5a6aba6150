#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "model/schema.h"

namespace bert {

/// The modules that models consist of: each has tensors, of these names and shapes. schema.cpp
/// alone includes it.

/// Sizes that shapes are made of.
enum class Size : uint8_t {
  one,
  two,
  V,
  P,
  types,
  tasks,
  E,
  out_E,
  H,
  B,        ///< what layers compute in: H where there is no bottleneck
  words,    ///< word vectors that make one of a token
  places,   ///< vectors of places and of types
  decoded,  ///< what the decoder of the masked LM reads of the word table
  rest,     ///< and what it reads beside
  A,
  D,
  AD,  ///< queries of all heads
  KD,  ///< keys, or values, of all heads
  I,
  buckets,
  span,
  norm,
  labels,
  hops,
  pooling,
  hops_H,
  bilstm
};

enum class Form : uint8_t {
  table,   ///< weight [out, in]
  linear,  ///< weight [out, in], bias [out]
  norm,    ///< weight [out], bias [out]
  bias,    ///< bias [out]
  conv,    ///< weight [out, in / groups, K], bias [out]
};

enum class Place : uint8_t { embeddings, layer, last, head };

struct Module {
  Role role;
  std::string_view name;  ///< behind encoder.layer.N. in layers
  Place place;
  Form form;
  Size out, in;
  bool quantized = false;
};

inline constexpr std::string_view kLayer = "encoder.layer.";

/// In the order of Role.
inline constexpr Module kModules[] = {
    {Role::word_embeddings, "embeddings.word_embeddings", Place::embeddings, Form::table, Size::V,
     Size::E, true},
    {Role::position_embeddings, "embeddings.position_embeddings", Place::embeddings, Form::table,
     Size::P, Size::places},
    {Role::token_type_embeddings, "embeddings.token_type_embeddings", Place::embeddings,
     Form::table, Size::types, Size::places},
    {Role::task_type_embeddings, "embeddings.task_type_embeddings", Place::embeddings, Form::table,
     Size::tasks, Size::E},
    {Role::embedding_norm, "embeddings.LayerNorm", Place::embeddings, Form::norm, Size::norm,
     Size::one},
    {Role::embedding_projection, "embeddings_project", Place::embeddings, Form::linear, Size::H,
     Size::words, true},
    {Role::relative_attention_bias, "encoder.relative_attention_bias", Place::embeddings,
     Form::table, Size::buckets, Size::A},
    {Role::relative_embeddings, "encoder.rel_embeddings", Place::embeddings, Form::table,
     Size::span, Size::H},
    {Role::relative_norm, "encoder.LayerNorm", Place::embeddings, Form::norm, Size::H, Size::one},
    {Role::convolution, "encoder.conv.conv", Place::embeddings, Form::conv, Size::H, Size::H},
    {Role::convolution_norm, "encoder.conv.LayerNorm", Place::embeddings, Form::norm, Size::H,
     Size::one},
    {Role::bottleneck, "bottleneck.input.dense", Place::layer, Form::linear, Size::B, Size::H,
     true},
    {Role::bottleneck_norm, "bottleneck.input.LayerNorm", Place::layer, Form::norm, Size::B,
     Size::one},
    {Role::shared_bottleneck, "bottleneck.attention.dense", Place::layer, Form::linear, Size::B,
     Size::H, true},
    {Role::shared_bottleneck_norm, "bottleneck.attention.LayerNorm", Place::layer, Form::norm,
     Size::B, Size::one},
    {Role::query, "attention.self.query", Place::layer, Form::linear, Size::AD, Size::B, true},
    {Role::key, "attention.self.key", Place::layer, Form::linear, Size::KD, Size::B, true},
    {Role::value, "attention.self.value", Place::layer, Form::linear, Size::KD, Size::H, true},
    {Role::query_norm, "attention.self.query_norm", Place::layer, Form::norm, Size::D, Size::one},
    {Role::key_norm, "attention.self.key_norm", Place::layer, Form::norm, Size::D, Size::one},
    {Role::position_key, "attention.self.pos_key_proj", Place::layer, Form::linear, Size::H,
     Size::H, true},
    {Role::position_query, "attention.self.pos_query_proj", Place::layer, Form::linear, Size::H,
     Size::H, true},
    {Role::distance_bias, "attention.self.distance_bias", Place::layer, Form::table, Size::buckets,
     Size::A},
    {Role::attention_output, "attention.output.dense", Place::layer, Form::linear, Size::B,
     Size::AD, true},
    {Role::attention_norm, "attention.output.LayerNorm", Place::layer, Form::norm, Size::B,
     Size::one},
    {Role::attention_exit_norm, "attention.output.exit_norm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::cross_query, "crossattention.self.query", Place::layer, Form::linear, Size::AD, Size::H,
     true},
    {Role::cross_key, "crossattention.self.key", Place::layer, Form::linear, Size::AD, Size::H,
     true},
    {Role::cross_value, "crossattention.self.value", Place::layer, Form::linear, Size::AD, Size::H,
     true},
    {Role::cross_output, "crossattention.output.dense", Place::layer, Form::linear, Size::H,
     Size::AD, true},
    {Role::cross_norm, "crossattention.output.LayerNorm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::first_intermediate, "ffn.0.intermediate.dense", Place::layer, Form::linear, Size::I,
     Size::B, true},
    {Role::first_output, "ffn.0.output.dense", Place::layer, Form::linear, Size::B, Size::I, true},
    {Role::first_output_norm, "ffn.0.output.LayerNorm", Place::layer, Form::norm, Size::B,
     Size::one},
    {Role::second_intermediate, "ffn.1.intermediate.dense", Place::layer, Form::linear, Size::I,
     Size::B, true},
    {Role::second_output, "ffn.1.output.dense", Place::layer, Form::linear, Size::B, Size::I, true},
    {Role::second_output_norm, "ffn.1.output.LayerNorm", Place::layer, Form::norm, Size::B,
     Size::one},
    {Role::third_intermediate, "ffn.2.intermediate.dense", Place::layer, Form::linear, Size::I,
     Size::B, true},
    {Role::third_output, "ffn.2.output.dense", Place::layer, Form::linear, Size::B, Size::I, true},
    {Role::third_output_norm, "ffn.2.output.LayerNorm", Place::layer, Form::norm, Size::B,
     Size::one},
    {Role::intermediate, "intermediate.dense", Place::layer, Form::linear, Size::I, Size::B, true},
    {Role::up, "intermediate.up", Place::layer, Form::linear, Size::I, Size::H, true},
    {Role::output, "output.dense", Place::layer, Form::linear, Size::B, Size::I, true},
    {Role::output_norm, "output.LayerNorm", Place::layer, Form::norm, Size::B, Size::one},
    {Role::output_exit_norm, "output.exit_norm", Place::layer, Form::norm, Size::H, Size::one},
    {Role::bottleneck_exit, "output.bottleneck.dense", Place::layer, Form::linear, Size::H, Size::B,
     true},
    {Role::bottleneck_exit_norm, "output.bottleneck.LayerNorm", Place::layer, Form::norm, Size::H,
     Size::one},
    {Role::final_norm, "encoder.final_norm", Place::last, Form::norm, Size::H, Size::one},
    {Role::pooler, "pooler.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::mlm_dense, "cls.predictions.transform.dense", Place::head, Form::linear, Size::out_E,
     Size::H, true},
    {Role::mlm_norm, "cls.predictions.transform.LayerNorm", Place::head, Form::norm, Size::out_E,
     Size::one},
    {Role::mlm_decoder, "cls.predictions.decoder", Place::head, Form::table, Size::V, Size::decoded,
     true},
    {Role::mlm_rest, "cls.predictions.dense", Place::head, Form::table, Size::rest, Size::V},
    {Role::mlm_bias, "cls.predictions", Place::head, Form::bias, Size::V, Size::one},
    {Role::next_sentence, "cls.seq_relationship", Place::head, Form::linear, Size::two, Size::H},
    {Role::head_dense, "classifier.transform.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::head_norm, "classifier.transform.LayerNorm", Place::head, Form::norm, Size::H,
     Size::one},
    {Role::classifier_dense, "classifier.dense", Place::head, Form::linear, Size::H, Size::H},
    {Role::classifier_output, "classifier.out_proj", Place::head, Form::linear, Size::labels,
     Size::H},
    {Role::score, "classifier.score", Place::head, Form::table, Size::labels, Size::H},
    {Role::classifier, "classifier", Place::head, Form::linear, Size::labels, Size::H},
    {Role::bilstm, "bilstm.lstm", Place::head, Form::linear, Size::two,
     Size::two},  // bilstm_tensors
    {Role::bilstm_classifier, "bilstm.classifier", Place::head, Form::linear, Size::labels,
     Size::bilstm},
    {Role::qa_outputs, "qa_outputs", Place::head, Form::linear, Size::two, Size::H},
    {Role::discriminator_dense, "discriminator_predictions.dense", Place::head, Form::linear,
     Size::H, Size::H},
    {Role::discriminator, "discriminator_predictions.dense_prediction", Place::head, Form::linear,
     Size::one, Size::H},
    {Role::pooling_hidden, "attentive_pooling.hidden", Place::head, Form::table, Size::pooling,
     Size::H},
    {Role::pooling_hops, "attentive_pooling.hops", Place::head, Form::table, Size::hops,
     Size::pooling},
    {Role::pooling_classifier, "attentive_pooling.classifier", Place::head, Form::linear,
     Size::labels, Size::hops_H}};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kModules); ++i) {
    if (kModules[i].role != static_cast<Role>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace bert
