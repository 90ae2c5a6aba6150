#pragma once

#include "model/family/parts.h"

namespace bert::family_rows {

// ---- DeBERTa, versions 2 and 3 (He et al. 2021): disentangled attention

inline constexpr auto kDebertaSizes = with(
    bert_sizes({.vocab = 128100,
                .positions = 512,
                .hidden = 1536,
                .layers = 24,
                .heads = 24,
                .inner = 6144}),
    types_size(0, 0), SizeKey{&Config::embedding_size, {"embedding_size"}, 0, kMaxWidth, 1, false},
    SizeKey{&Config::conv_kernel_size, {"conv_kernel_size"}, 0, 1001, 0, false},
    SizeKey{&Config::conv_groups, {"conv_groups"}, 1, kMaxWidth, 1, false});

inline constexpr Renaming kDebertaLayer[] = {
    {"attention.self.query_proj.", "attention.self.query."},
    {"attention.self.key_proj.", "attention.self.key."},
    {"attention.self.value_proj.", "attention.self.value."}};
inline constexpr Renaming kDebertaNames[] = {{"embeddings.embed_proj.", "embeddings_project."}};
/// Of the head of version 3, which `legacy` says.
inline constexpr Renaming kDebertaHead[] = {
    {"lm_predictions.lm_head.dense.", "cls.predictions.transform.dense."},
    {"lm_predictions.lm_head.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"lm_predictions.lm_head.bias", "cls.predictions.bias"}};

inline constexpr Family kDebertaV2 = {.model_type = "deberta-v2",
                                      .class_prefix = "DebertaV2",
                                      .tensor_prefix = "deberta.",
                                      .sizes = kDebertaSizes,
                                      .layer_norm_eps = 1e-7,
                                      .classifier_dropout_key = "cls_dropout",
                                      .layer_names = kDebertaLayer,
                                      .names = kDebertaNames,
                                      .other_names = kDebertaHead,
                                      .other_names_key = "legacy",
                                      .positions = Positions::chosen,
                                      .projects_first = true,
                                      .pooler = true,
                                      .pooler_is_head = true,
                                      .pooler_outside = true,
                                      .pooler_act_key = "pooler_hidden_act",
                                      .text_head = TextHead::pooled,
                                      .classifier_dropout_texts = true,
                                      .saves_decoder_bias = true};

// ---- DeBERTa, version 1: queries, keys and values are one matrix head by head, keys have no bias

inline constexpr auto kDebertaV1Sizes = with(
    bert_sizes({.vocab = 50265,
                .positions = 512,
                .hidden = 768,
                .layers = 12,
                .heads = 12,
                .inner = 3072}),
    types_size(0, 0), SizeKey{&Config::embedding_size, {"embedding_size"}, 0, kMaxWidth, 1, false});
inline constexpr FixedKey kDebertaV1Fixed[] = {{"talking_head", "false"},
                                               {"position_buckets", "-1"},
                                               {"conv_kernel_size", "0"},
                                               {"norm_rel_ebd", "none"},
                                               {"share_att_key", "false"}};
inline constexpr Renaming kDebertaV1Layer[] = {
    {"attention.self.in_proj.", "attention.self.heads_query_key_value."},
    {"attention.self.q_bias", "attention.self.query.bias"},
    {"attention.self.v_bias", "attention.self.value.bias"},
    {"attention.self.pos_proj.", "attention.self.pos_key_proj."},
    {"attention.self.pos_q_proj.", "attention.self.pos_query_proj."}};

constexpr Family version_1(Family family) {
  family.sizes = kDebertaV1Sizes;
  family.fixed = kDebertaV1Fixed;
  family.layer_names = kDebertaV1Layer;
  family.key_bias = false;
  return family;
}
inline constexpr Family kDeberta =
    version_1(like(kDebertaV2, {.model_type = "deberta", .class_prefix = "Deberta"}));

}  // namespace bert::family_rows
