#pragma once

#include "model/family/bert.h"
#include "model/family/roberta.h"

namespace bert::family_rows {

// ---- Marian (Junczys-Dowmunt et al. 2018): the Transformer of Vaswani et al. 2017. Its two
// halves; seq2seq_config.h puts them together.

inline constexpr SizeKey kMarianEncoderSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 58101, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 1024, kMaxRows},
    {&Config::hidden_size, {"d_model"}, 1024, kMaxWidth},
    {&Config::num_hidden_layers, {"encoder_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"encoder_attention_heads"}, 16, kMaxWidth},
    {&Config::intermediate_size, {"encoder_ffn_dim"}, 4096, kMaxWidth}};
inline constexpr SizeKey kMarianDecoderSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 58101, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 1024, kMaxRows},
    {&Config::hidden_size, {"d_model"}, 1024, kMaxWidth},
    {&Config::num_hidden_layers, {"decoder_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"decoder_attention_heads"}, 16, kMaxWidth},
    {&Config::intermediate_size, {"decoder_ffn_dim"}, 4096, kMaxWidth}};

inline constexpr Renaming kMarianLayer[] = {
    {"self_attn.q_proj.", "attention.self.query."},
    {"self_attn.k_proj.", "attention.self.key."},
    {"self_attn.v_proj.", "attention.self.value."},
    {"self_attn.out_proj.", "attention.output.dense."},
    {"self_attn_layer_norm.", "attention.output.LayerNorm."},
    {"encoder_attn.q_proj.", "crossattention.self.query."},
    {"encoder_attn.k_proj.", "crossattention.self.key."},
    {"encoder_attn.v_proj.", "crossattention.self.value."},
    {"encoder_attn.out_proj.", "crossattention.output.dense."},
    {"encoder_attn_layer_norm.", "crossattention.output.LayerNorm."},
    {"fc1.", "intermediate.dense."},
    {"fc2.", "output.dense."},
    {"final_layer_norm.", "output.LayerNorm."}};
inline constexpr Renaming kMarianNames[] = {{"embed_tokens.", "embeddings.word_embeddings."},
                                            {"embed_positions.", "embeddings.position_embeddings."},
                                            {"lm_head.", "cls.predictions.decoder."},
                                            {"final_logits_bias", "cls.predictions.bias"}};

inline constexpr Family kMarianEncoder = {.model_type = "marian",
                                          .class_prefix = "Marian",
                                          .tensor_prefix = "model.encoder.",
                                          .sizes = kMarianEncoderSizes,
                                          .activation_keys = {"activation_function"},
                                          .layer_norm_eps_keys = {},
                                          .layer_norm_eps = 1e-5,
                                          .pad_token_id = 58100,
                                          .hidden_dropout_key = "dropout",
                                          .attention_dropout_key = "attention_dropout",
                                          .layer_prefixes = {"layers."},
                                          .layer_names = kMarianLayer,
                                          .names = kMarianNames,
                                          .positions = Positions::waves,
                                          .embedding_norm = false};
constexpr Family marian_decoder() {
  Family family = kMarianEncoder;
  family.tensor_prefix = "model.decoder.";
  family.sizes = kMarianDecoderSizes;
  family.cross_attention = true;
  return family;
}
inline constexpr Family kMarianDecoder = marian_decoder();

// ---- Decoders of EncoderDecoderModel: an encoder whose layers look at the source, too

constexpr Family decoder_of(Family family) {
  family.fixed = {kAbsolute, 1};
  family.cross_attention = true;
  family.pooler = false;
  return family;
}
inline constexpr Family kDecoders[] = {decoder_of(kBert), decoder_of(kRoberta),
                                       decoder_of(kCamembert), decoder_of(kXlmRoberta)};

}  // namespace bert::family_rows
