#pragma once

#include "model/families/parts.h"

namespace bert::family_rows {

// ---- DeBERTa, versions 2 and 3 (He et al. 2021): disentangled attention

inline constexpr SizeKey kDebertaSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 128100, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 1536, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 24, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 24, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 6144, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 0, kMaxRows, 0, false},
    {&Config::embedding_size, {"embedding_size"}, 0, kMaxWidth, 1, false},
    {&Config::conv_kernel_size, {"conv_kernel_size"}, 0, 1001, 0, false},
    {&Config::conv_groups, {"conv_groups"}, 1, kMaxWidth, 1, false}};

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

inline constexpr Family kDeberta = {.model_type = "deberta-v2",
                                    .class_prefix = "DebertaV2",
                                    .tensor_prefix = "deberta.",
                                    .sizes = kDebertaSizes,
                                    .layer_norm_eps = 1e-7,
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
                                    .saves_decoder_bias = true};

}  // namespace bert::family_rows
