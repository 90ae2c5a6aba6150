#pragma once

#include "model/family/parts.h"

namespace bert::family_rows {

// ---- RoBERTa (Liu et al. 2019), CamemBERT (Martin et al. 2020) and XLM-RoBERTa (Conneau et al.
// 2020): positions behind the padding token's; they differ in their tokenizers

inline constexpr auto kRobertaSizes = with(bert_sizes({.vocab = 50265,
                                                       .positions = 512,
                                                       .least_positions = 3,
                                                       .hidden = 768,
                                                       .layers = 12,
                                                       .heads = 12,
                                                       .inner = 3072}),
                                           types_size(2, 1));

inline constexpr Family kRoberta = {.model_type = "roberta",
                                    .class_prefix = "Roberta",
                                    .tensor_prefix = "roberta.",
                                    .sizes = kRobertaSizes,
                                    .fixed = kAbsolute,
                                    .pad_token_id = 1,
                                    .names = kLmHead,
                                    .first_behind_padding = true,
                                    .pooler = true,
                                    .text_head_act = Activation::tanh,
                                    .mlm_act = Activation::gelu,
                                    .drops_before_text_head = true,
                                    .saves_decoder_bias = true};
inline constexpr Family kCamembert =
    like(kRoberta, {.model_type = "camembert", .class_prefix = "Camembert"});
inline constexpr Family kXlmRoberta =
    like(kRoberta, {.model_type = "xlm-roberta", .class_prefix = "XLMRoberta"});

inline constexpr Family kData2Vec = like(kRoberta, {.model_type = "data2vec-text",
                                                    .class_prefix = "Data2VecText",
                                                    .tensor_prefix = "data2vec_text."});

/// I-BERT (Kim et al. 2021) in floats is RoBERTa.
inline constexpr FixedKey kIBertFixed[] = {
    {"position_embedding_type", "absolute", "relative positions are not supported"},
    {"quant_mode", "false", "its own arithmetic of whole numbers is not supported"}};
constexpr Family in_floats(Family family) {
  family.fixed = kIBertFixed;
  return family;
}
inline constexpr Family kIBert = in_floats(
    like(kRoberta, {.model_type = "ibert", .class_prefix = "IBert", .tensor_prefix = "ibert."}));

// ---- RoBERTa with norms before: RoBERTa-PreLayerNorm (Wettig et al. 2022), and XLM-RoBERTa-XL
// (Goyal et al. 2021), whose embeddings have no norm

inline constexpr Renaming kPreLayerNormLayer[] = {
    {"attention.LayerNorm.", "attention.output.LayerNorm."},
    {"intermediate.LayerNorm.", "output.LayerNorm."}};
inline constexpr auto kPreLayerNormNames =
    with(kLmHead, Renaming{"LayerNorm.", "encoder.final_norm."});

constexpr Family with_norms_before(Family family, std::span<const Renaming> layer_names,
                                   std::span<const Renaming> names) {
  family.layer_names = layer_names;
  family.names = names;
  family.norms = NormPlace::before;
  return family;
}
inline constexpr Family kRobertaPreLayerNorm =
    with_norms_before(like(kRoberta, {.model_type = "roberta-prelayernorm",
                                      .class_prefix = "RobertaPreLayerNorm",
                                      .tensor_prefix = "roberta_prelayernorm."}),
                      kPreLayerNormLayer, kPreLayerNormNames);

inline constexpr Renaming kXlLayer[] = {
    {"attention.self_attn_layer_norm.", "attention.output.LayerNorm."},
    {"LayerNorm.", "output.LayerNorm."}};
inline constexpr auto kXlNames =
    with(kLmHead, Renaming{"encoder.LayerNorm.", "encoder.final_norm."});

constexpr Family xlm_roberta_xl() {
  Family family = with_norms_before(
      like(kRoberta, {.model_type = "xlm-roberta-xl", .class_prefix = "XLMRobertaXL"}), kXlLayer,
      kXlNames);
  family.embedding_norm = false;
  return family;
}
inline constexpr Family kXlmRobertaXl = xlm_roberta_xl();

// ---- MPNet (Song et al. 2020): positions behind the padding token's and a bias by relative
// position

inline constexpr auto kMPNetSizes = with(
    bert_sizes({.vocab = 30527,
                .positions = 512,
                .least_positions = 3,
                .hidden = 768,
                .layers = 12,
                .heads = 12,
                .inner = 3072}),  // The reference reads 32 rows of the table, whatever its size.
    SizeKey{&Config::relative_attention_num_buckets,
            {"relative_attention_num_buckets"},
            32,
            kMaxRows,
            32,
            false});

inline constexpr Renaming kMPNetLayer[] = {{"attention.attn.q.", "attention.self.query."},
                                           {"attention.attn.k.", "attention.self.key."},
                                           {"attention.attn.v.", "attention.self.value."},
                                           {"attention.attn.o.", "attention.output.dense."},
                                           {"attention.LayerNorm.", "attention.output.LayerNorm."}};
inline constexpr Family kMPNet = {.model_type = "mpnet",
                                  .class_prefix = "MPNet",
                                  .tensor_prefix = "mpnet.",
                                  .sizes = kMPNetSizes,
                                  .fixed = kAbsolute,
                                  .classifier_dropout_key = "hidden_dropout_prob",
                                  .layer_names = kMPNetLayer,
                                  .names = kLmHead,
                                  .first_position = 2,
                                  .pooler = true,
                                  .text_head_act = Activation::tanh,
                                  .mlm_act = Activation::gelu,
                                  .drops_before_text_head = true,
                                  .saves_decoder_bias = true};

}  // namespace bert::family_rows
