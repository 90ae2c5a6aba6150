#pragma once

#include "model/family/parts.h"

namespace bert::family_rows {

// ---- Encoders with the halves of large language models: RMS norms before, rotary positions, gated
// nets, several heads of queries for each of keys and values (Ainslie et al. 2023, GQA)

inline constexpr auto kGatedHeads =
    with(kProjections, Renaming{"self_attn.q_norm.", "attention.self.query_norm."},
         Renaming{"self_attn.k_norm.", "attention.self.key_norm."},
         Renaming{"input_layernorm.", "attention.output.LayerNorm."});
inline constexpr auto kGatedLayer =
    with(kGatedHeads, Renaming{"post_attention_layernorm.", "output.LayerNorm."});
inline constexpr Renaming kGatedTrunk[] = {{"embed_tokens.", "embeddings.word_embeddings."},
                                           {"norm.", "encoder.final_norm."}};

struct GatedSizes {
  size_t vocab, positions, hidden, layers, heads, key_value_heads, head, inner;
};
constexpr std::array<SizeKey, 8> gated_sizes(const GatedSizes& s) {
  return with(bert_sizes({.vocab = s.vocab,
                          .positions = s.positions,
                          .hidden = s.hidden,
                          .layers = s.layers,
                          .heads = s.heads,
                          .inner = s.inner}),
              SizeKey{&Config::num_key_value_heads,
                      {"num_key_value_heads"},
                      s.key_value_heads,
                      kMaxWidth,
                      1,
                      false},
              SizeKey{&Config::head_width, {"head_dim"}, s.head, kMaxWidth, 1, false, true});
}

// ---- EuroBERT (Boizard et al. 2025)

inline constexpr auto kEuroSizes = gated_sizes({.vocab = 128256,
                                                .positions = 8192,
                                                .hidden = 768,
                                                .layers = 12,
                                                .heads = 12,
                                                .key_value_heads = 0,
                                                .head = 0,
                                                .inner = 3072});
inline constexpr FlagKey kEuroFlags[] = {{&Config::attention_bias, "attention_bias", false},
                                         {&Config::intermediate_bias, "mlp_bias", false},
                                         {&Config::output_bias, "mlp_bias", false},
                                         {&Config::decoder_bias, "mlp_bias", false}};
inline constexpr auto kEuroNames = with(
    std::to_array(kGatedTrunk), Renaming{"lm_head.bias", "cls.predictions.bias"},
    Renaming{"lm_head.", "cls.predictions.decoder."}, Renaming{"dense.", "classifier.dense."},
    Renaming{.file = "classifier.", .canonical = "classifier.out_proj.", .beside = "dense.weight"});

inline constexpr TextInputName kEuroInputs[] = {
    {"late", TextInput::mean_logits}, {"bos", TextInput::first}, {"mean", TextInput::mean}};

inline constexpr Family kEuroBert = {.model_type = "eurobert",
                                     .class_prefix = "EuroBert",
                                     .tensor_prefix = "model.",
                                     .sizes = kEuroSizes,
                                     .flags = kEuroFlags,
                                     .activation = "silu",
                                     .layer_norm_eps_keys = {"rms_norm_eps"},
                                     .layer_norm_eps = 1e-5,
                                     .pad_token_id = 128001,
                                     .attention_dropout_key = "attention_dropout",
                                     .hidden_dropout = 0,
                                     .attention_dropout = 0,
                                     .ties_words = false,
                                     .layer_prefixes = {"layers."},
                                     .layer_names = kGatedLayer,
                                     .names = kEuroNames,
                                     .positions = Positions::rotary,
                                     .rotary_theta = 10000,
                                     .norms = NormPlace::before,
                                     .norm_kind = NormKind::rms,
                                     .gated = true,
                                     .embedding_norm = false,
                                     .text_inputs = kEuroInputs,
                                     .text_head_act = Activation::gelu,
                                     .mlm_transform = false};

// ---- Qwen 3 (Yang et al. 2025), of Qwen3-Embedding and Qwen3-Reranker: a token sees those before
// it alone

inline constexpr auto kQwen3Sizes = gated_sizes({.vocab = 151936,
                                                 .positions = 32768,
                                                 .hidden = 4096,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .key_value_heads = 0,
                                                 .head = 128,
                                                 .inner = 22016});
inline constexpr FlagKey kQwen3Flags[] = {{&Config::attention_bias, "attention_bias", false},
                                          {&Config::intermediate_bias, "", false},
                                          {&Config::output_bias, "", false},
                                          {&Config::bidirectional, "", false}};
inline constexpr FixedKey kQwen3Fixed[] = {{"use_sliding_window", "false"}};
inline constexpr TextInputName kLastInput[] = {{"", TextInput::last}};
inline constexpr auto kScoreNames =
    with(std::to_array(kGatedTrunk), Renaming{"lm_head.", "cls.predictions.decoder."},
         Renaming{.file = "score.",
                  .canonical = "classifier.score.",
                  .of_class = "ForSequenceClassification"},
         Renaming{"score.", "classifier."});

inline constexpr Family kQwen3 = {.model_type = "qwen3",
                                  .class_prefix = "Qwen3",
                                  .tensor_prefix = "model.",
                                  .sizes = kQwen3Sizes,
                                  .flags = kQwen3Flags,
                                  .fixed = kQwen3Fixed,
                                  .activation = "silu",
                                  .layer_norm_eps_keys = {"rms_norm_eps"},
                                  .layer_norm_eps = 1e-6,
                                  .pad_token_id = -1,
                                  .attention_dropout_key = "attention_dropout",
                                  .hidden_dropout = 0,
                                  .attention_dropout = 0,
                                  .ties_words = false,
                                  .layer_prefixes = {"layers."},
                                  .layer_names = kGatedLayer,
                                  .names = kScoreNames,
                                  .positions = Positions::rotary,
                                  .rotary_theta = 10000,
                                  .norms = NormPlace::before,
                                  .norm_kind = NormKind::rms,
                                  .norm_of_heads = true,
                                  .gated = true,
                                  .embedding_norm = false,
                                  .text_head = TextHead::score,
                                  .text_inputs = kLastInput,
                                  .masked_lm = false,
                                  .mlm_transform = false};

// ---- Gemma 3 (Gemma team 2025), of EmbeddingGemma: norms around, most layers see near tokens

inline constexpr auto kGemma3Sizes =
    with(gated_sizes({.vocab = 262208,
                      .positions = 131072,
                      .hidden = 2304,
                      .layers = 26,
                      .heads = 8,
                      .key_value_heads = 4,
                      .head = 256,
                      .inner = 9216}),
         SizeKey{&Config::query_scalar, {"query_pre_attn_scalar"}, 256, kMaxWidth, 1, false},
         SizeKey{&Config::max_window, {"sliding_window"}, 4096, kMaxRows, 1, false});
inline constexpr FlagKey kGemma3Flags[] = {
    {&Config::attention_bias, "attention_bias", false},
    {&Config::intermediate_bias, "", false},
    {&Config::output_bias, "", false},
    {&Config::bidirectional, "use_bidirectional_attention", false}};
inline constexpr auto kGemma3Layer =
    with(kGatedHeads, Renaming{"post_attention_layernorm.", "attention.output.exit_norm."},
         Renaming{"pre_feedforward_layernorm.", "output.LayerNorm."},
         Renaming{"post_feedforward_layernorm.", "output.exit_norm."});

inline constexpr Family kGemma3Text = {.model_type = "gemma3_text",
                                       .class_prefix = "Gemma3Text",
                                       .tensor_prefix = "model.",
                                       .sizes = kGemma3Sizes,
                                       .flags = kGemma3Flags,
                                       .activation_keys = {"hidden_activation"},
                                       .activation = "gelu_pytorch_tanh",
                                       .layer_norm_eps_keys = {"rms_norm_eps"},
                                       .layer_norm_eps = 1e-6,
                                       .attention_dropout_key = "attention_dropout",
                                       .hidden_dropout = 0,
                                       .attention_dropout = 0,
                                       .layer_prefixes = {"layers."},
                                       .layer_names = kGemma3Layer,
                                       .names = kScoreNames,
                                       .positions = Positions::rotary,
                                       .rotary_theta = 1000000,
                                       .local_rotary_theta = 10000,
                                       .local_rotary_theta_key = "rope_local_base_freq",
                                       .scales_local_angles = false,
                                       .global_every_key = "sliding_window_pattern",
                                       .global_every = 6,
                                       .global_is_last = true,
                                       .norms = NormPlace::around,
                                       .norm_kind = NormKind::rms_around_one,
                                       .norm_of_heads = true,
                                       .gated = true,
                                       .embedding_norm = false,
                                       .scales_embeddings = true,
                                       .text_head = TextHead::score,
                                       .text_inputs = kLastInput,
                                       .masked_lm = false,
                                       .mlm_transform = false};

}  // namespace bert::family_rows
