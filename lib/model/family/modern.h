#pragma once

#include "model/family/parts.h"

namespace bert::family_rows {

// ---- ModernBERT (Warner et al. 2024): norms before, rotary positions, most layers see near tokens

inline constexpr auto kModernSizes =
    with(bert_sizes({.vocab = 50368,
                     .positions = 8192,
                     .hidden = 768,
                     .layers = 22,
                     .heads = 12,
                     .inner = 1152}),
         SizeKey{&Config::max_window, {"local_attention"}, 128, kMaxRows, 0, false});
inline constexpr FlagKey kModernFlags[] = {{&Config::attention_bias, "attention_bias", false},
                                           {&Config::intermediate_bias, "mlp_bias", false},
                                           {&Config::output_bias, "mlp_bias", false},
                                           {&Config::norm_bias, "norm_bias", false},
                                           {&Config::head_bias, "classifier_bias", false},
                                           {&Config::decoder_bias, "decoder_bias", true}};

inline constexpr Renaming kModernLayer[] = {{"attn.Wqkv.", "attention.self.query_key_value."},
                                            {"attn.Wo.", "attention.output.dense."},
                                            {"attn_norm.", "attention.output.LayerNorm."},
                                            {"mlp.Wi.", "intermediate.gate_up."},
                                            {"mlp.Wo.", "output.dense."},
                                            {"mlp_norm.", "output.LayerNorm."}};
inline constexpr Renaming kModernNames[] = {
    {"embeddings.tok_embeddings.", "embeddings.word_embeddings."},
    {"embeddings.norm.", "embeddings.LayerNorm."},
    {"final_norm.", "encoder.final_norm."},
    {"head.dense.", "classifier.transform.dense.", "classifier.weight"},
    {"head.norm.", "classifier.transform.LayerNorm.", "classifier.weight"},
    {"head.dense.", "cls.predictions.transform.dense."},
    {"head.norm.", "cls.predictions.transform.LayerNorm."},
    {"decoder.bias", "cls.predictions.bias"},
    {"decoder.", "cls.predictions.decoder."},
    {.file = "classifier.weight",
     .canonical = "qa_outputs.weight",
     .of_class = "ForQuestionAnswering"},
    {.file = "classifier.bias",
     .canonical = "qa_outputs.bias",
     .of_class = "ForQuestionAnswering"}};

inline constexpr TextInputName kModernInputs[] = {{"cls", TextInput::first},
                                                  {"mean", TextInput::mean}};

inline constexpr Family kModernBert = {.model_type = "modernbert",
                                       .class_prefix = "ModernBert",
                                       .tensor_prefix = "model.",
                                       .sizes = kModernSizes,
                                       .flags = kModernFlags,
                                       .activation_keys = {"hidden_activation"},
                                       .layer_norm_eps_keys = {"norm_eps"},
                                       .layer_norm_eps = 1e-5,
                                       .pad_token_id = 50283,
                                       .hidden_dropout_key = "mlp_dropout",
                                       .attention_dropout_key = "attention_dropout",
                                       .hidden_dropout = 0,
                                       .attention_dropout = 0,
                                       .classifier_dropout = 0,
                                       .layer_prefixes = {"layers."},
                                       .layer_names = kModernLayer,
                                       .names = kModernNames,
                                       .positions = Positions::rotary,
                                       .rotary_theta = 160000,
                                       .local_rotary_theta = 10000,
                                       .rotary_theta_keys = {"global_rope_theta"},
                                       .norms = NormPlace::before,
                                       .norm_of_embeddings = true,
                                       .gated = true,
                                       .text_head = TextHead::transform,
                                       .text_inputs = kModernInputs,
                                       .answers_dropout_key = "classifier_dropout"};

// ---- NomicBERT (Nussbaum et al. 2024) and GTE (Zhang et al. 2024): BERT with rotary positions and
// gated nets. Both have a layout of their own on the hub and one of transformers.

/// What transformers' modules call a layer's tensors, of both; its files have the names of the hub.
inline constexpr auto kModuleLayer = with(
    kProjections, Renaming{"attention.q_proj.", "attention.self.query."},  // GTE's without pack_qkv
    Renaming{"attention.k_proj.", "attention.self.key."},
    Renaming{"attention.v_proj.", "attention.self.value."},
    Renaming{"post_attention_layernorm.", "attention.output.LayerNorm."},
    Renaming{"post_mlp_layernorm.", "output.LayerNorm."});

inline constexpr SizeKey kNomicSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30528, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings", "n_positions"}, 2048, kMaxRows},
    {&Config::hidden_size, {"hidden_size", "n_embd"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers", "n_layer"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads", "n_head"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size", "n_inner"}, 3072, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 0, false}};
inline constexpr FlagKey kNomicFlags[] = {{&Config::attention_bias, "qkv_proj_bias", false},
                                          {&Config::intermediate_bias, "mlp_fc1_bias", false},
                                          {&Config::output_bias, "mlp_fc2_bias", false}};
inline constexpr FixedKey kNomicFixed[] = {
    {"num_experts", "0", "mixtures of experts (nomic-embed v2) are not supported"},
    {"prenorm", "false"},
    {"parallel_block", "false"},
    {"causal", "false"},
    {"use_rms_norm", "false"},
    {"rotary_emb_fraction", "1"},
    {"rotary_emb_interleaved", "false"}};

inline constexpr Renaming kNomicLayer[] = {{"attn.Wqkv.", "attention.self.query_key_value."},
                                           {"attn.out_proj.", "attention.output.dense."},
                                           {"norm1.", "attention.output.LayerNorm."},
                                           {"mlp.fc12.", "intermediate.dense."},
                                           {"mlp.fc11.", "intermediate.up."},
                                           {"mlp.fc2.", "output.dense."},
                                           {"norm2.", "output.LayerNorm."}};
inline constexpr Renaming kNomicNames[] = {
    {"emb_ln.", "embeddings.LayerNorm."},
    {"cls.predictions.transform.layer_norm.", "cls.predictions.transform.LayerNorm."}};

inline constexpr Family kNomicBert = {
    .model_type = "nomic_bert",
    .class_prefix = "NomicBert",
    .tensor_prefix = "nomic_bert.",
    .sizes = kNomicSizes,
    .flags = kNomicFlags,
    .fixed = kNomicFixed,
    .activation_keys = {"hidden_act", "activation_function"},
    .activation = "silu",
    .layer_norm_eps_keys = {"layer_norm_eps", "layer_norm_epsilon"},
    .hidden_dropout = 0,
    .attention_dropout = 0,
    .older_prefix = "bert.",
    .layer_prefixes = {"encoder.layers.", "layers."},
    .layer_names = kNomicLayer,
    .names = kNomicNames,
    .other_layer_names = kModuleLayer,
    .positions = Positions::rotary,
    .rotary_theta = 1000,
    .rotary_theta_keys = {"rope_theta", "rotary_emb_base"},
    .gated = true,
    .pooler = true,
    .pooler_is_head = true,
    .text_head = TextHead::pooled,
    .saves_decoder_bias = true};

inline constexpr auto kGteSizes = with(bert_sizes({.vocab = 250048,
                                                   .positions = 8192,
                                                   .hidden = 768,
                                                   .layers = 12,
                                                   .heads = 12,
                                                   .inner = 3072}),
                                       types_size(1, 0));
inline constexpr FlagKey kGteFlags[] = {{&Config::intermediate_bias, "", false}};
inline constexpr FixedKey kGteFixed[] = {{"position_embedding_type", "rope"},
                                         {"layer_norm_type", "layer_norm"},
                                         {"logn_attention_scale", "false"}};

inline constexpr Renaming kGteLayer[] = {{"attention.qkv_proj.", "attention.self.query_key_value."},
                                         {"attention.o_proj.", "attention.output.dense."},
                                         {"attn_ln.", "attention.output.LayerNorm."},
                                         {"mlp.up_gate_proj.", "intermediate.up_gate."},
                                         {"mlp.down_proj.", "output.dense."},
                                         {"mlp_ln.", "output.LayerNorm."}};
inline constexpr Renaming kGteNames[] = {{"lm_head.dense.", "cls.predictions.transform.dense."},
                                         {"lm_head.norm.", "cls.predictions.transform.LayerNorm."},
                                         {"lm_head.decoder.bias", "cls.predictions.bias"},
                                         {"lm_head.decoder.", "cls.predictions.decoder."}};

inline constexpr Renaming kGteModules[] = {
    {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."}};

inline constexpr Family kGte = {.model_type = "gte",
                                .class_prefix = "Gte",
                                .tensor_prefix = "gte.",
                                .sizes = kGteSizes,
                                .flags = kGteFlags,
                                .fixed = kGteFixed,
                                .pad_token_id = 1,
                                .attention_dropout = 0,
                                .older_prefix = "new.",
                                .layer_prefixes = {"encoder.layer.", "layers."},
                                .layer_names = kGteLayer,
                                .names = kGteNames,
                                .other_layer_names = kModuleLayer,
                                .other_names = kGteModules,
                                .positions = Positions::rotary,
                                .rotary_theta = 160000,
                                .gated = true,
                                .pooler = true,
                                .pooler_is_head = true,
                                .text_head = TextHead::pooled};
inline constexpr Family kNewGte = like(kGte, {.model_type = "new", .class_prefix = "New"});

// ---- RoFormer (Su et al. 2021): the first with rotary positions, which turn neighbours

inline constexpr auto kRoFormerSizes = with(
    bert_sizes({.vocab = 50000,
                .positions = 1536,
                .hidden = 768,
                .layers = 12,
                .heads = 12,
                .inner = 3072}),
    types_size(2, 1), SizeKey{&Config::embedding_size, {"embedding_size"}, 0, kMaxWidth, 1, false});
inline constexpr FixedKey kRoFormerFixed[] = {
    {"is_decoder", "false", "decoders are not supported"},
    {"add_cross_attention", "false", "decoders are not supported"},
    {"rotary_value", "false", "values that are turned, too, are not supported"}};

inline constexpr Family kRoFormer = {.model_type = "roformer",
                                     .class_prefix = "RoFormer",
                                     .tensor_prefix = "roformer.",
                                     .sizes = kRoFormerSizes,
                                     .fixed = kRoFormerFixed,
                                     .positions = Positions::rotary,
                                     .rotary_theta = 10000,
                                     .rotary_theta_keys = {},
                                     .turns_tensor = "encoder.embed_positions.weight",
                                     .turns_neighbours = true,
                                     .text_head_act = std::nullopt,
                                     .drops_before_text_head = true,
                                     .saves_decoder_bias = true};

// ---- ESM-1b and ESM-2 (Rives et al. 2021, Lin et al. 2023): proteins, a letter a token

inline constexpr auto kEsmSizes = bert_sizes({.vocab = 33,
                                              .positions = 1026,
                                              .least_positions = 3,
                                              .hidden = 768,
                                              .layers = 12,
                                              .heads = 12,
                                              .inner = 3072});
inline constexpr FlagKey kEsmFlags[] = {{&Config::embedding_norm, "emb_layer_norm_before", false},
                                        {&Config::token_dropout, "token_dropout", false}};
inline constexpr FixedKey kEsmFixed[] = {
    {"is_decoder", "false", "decoders are not supported"},
    {"add_cross_attention", "false", "decoders are not supported"},
    {"is_folding_model", "false", "models that fold proteins are not supported"}};

inline constexpr Renaming kEsmLayer[] = {{"attention.LayerNorm.", "attention.output.LayerNorm."},
                                         {"LayerNorm.", "output.LayerNorm."}};
inline constexpr auto kEsmNames =
    with(kLmHead, Renaming{"embeddings.layer_norm.", "embeddings.LayerNorm."},
         Renaming{"encoder.emb_layer_norm_after.", "encoder.final_norm."});

inline constexpr Family kEsm = {.model_type = "esm",
                                .class_prefix = "Esm",
                                .tensor_prefix = "esm.",
                                .sizes = kEsmSizes,
                                .flags = kEsmFlags,
                                .fixed = kEsmFixed,
                                .activation_keys = {},
                                .pad_token_id = 1,
                                .layer_names = kEsmLayer,
                                .names = kEsmNames,
                                .positions = Positions::typed,
                                .first_behind_padding = true,
                                .rotary_theta = 10000,
                                .turns_tensor = "rotary_embeddings.inv_freq",
                                .norms = NormPlace::before,
                                .pooler = true,
                                .text_head_act = Activation::tanh,
                                .mlm_act = Activation::gelu,
                                .drops_embeddings = false,
                                .drops_before_text_head = true};

// ---- Jina Embeddings 3 (Sturua et al. 2024): XLM-RoBERTa with rotary positions

inline constexpr auto kJinaSizes = with(bert_sizes({.vocab = 250002,
                                                    .positions = 8194,
                                                    .hidden = 1024,
                                                    .layers = 24,
                                                    .heads = 16,
                                                    .inner = 4096}),
                                        types_size(1, 1));

inline constexpr Renaming kJinaLayer[] = {{"mixer.Wqkv.", "attention.self.query_key_value."},
                                          {"mixer.out_proj.", "attention.output.dense."},
                                          {"norm1.", "attention.output.LayerNorm."},
                                          {"mlp.fc1.", "intermediate.dense."},
                                          {"mlp.fc2.", "output.dense."},
                                          {"norm2.", "output.LayerNorm."}};
inline constexpr auto kJinaNames = with(kLmHead, Renaming{"emb_ln.", "embeddings.LayerNorm."});

inline constexpr Family kJinaV3 = {.model_type = "jina_embeddings_v3",
                                   .class_prefix = "JinaEmbeddingsV3",
                                   .tensor_prefix = "roberta.",
                                   .sizes = kJinaSizes,
                                   .layer_norm_eps = 1e-5,
                                   .pad_token_id = 1,
                                   .layer_prefixes = {"encoder.layers.", "layers."},
                                   .layer_names = kJinaLayer,
                                   .names = kJinaNames,
                                   .other_layer_names = kModuleLayer,
                                   .positions = Positions::rotary,
                                   .rotary_theta = 20000,
                                   .pooler = true,
                                   .text_head_act = Activation::tanh,
                                   .mlm_act = Activation::gelu,
                                   .drops_before_text_head = true,
                                   .saves_decoder_bias = true};

}  // namespace bert::family_rows
