#pragma once

#include "model/family/parts.h"

namespace bert::family_rows {

// ---- BERT (Devlin et al. 2019)

inline constexpr auto kBertSizes = with(bert_sizes({.vocab = 30522,
                                                    .positions = 512,
                                                    .hidden = 768,
                                                    .layers = 12,
                                                    .heads = 12,
                                                    .inner = 3072}),
                                        types_size(2, 1));

inline constexpr Family kBert = {.model_type = "bert",
                                 .class_prefix = "Bert",
                                 .tensor_prefix = "bert.",
                                 .telling_keys = {"num_attention_heads", "hidden_size"},
                                 .sizes = kBertSizes,
                                 .fixed = kAbsolute,
                                 .pooler = true,
                                 .text_head = TextHead::pooled,
                                 .next_sentence = true,
                                 .saves_decoder_bias = true};

// ---- DistilBERT (Sanh et al. 2019): no token types, no pooler, names of its own

inline constexpr SizeKey kDistilSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30522, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"dim", "hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"n_layers", "num_hidden_layers"}, 6, kMaxLayers, 0},
    {&Config::num_attention_heads, {"n_heads", "num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"hidden_dim"}, 3072, kMaxWidth}};

inline constexpr Renaming kDistilLayer[] = {{"attention.q_lin.", "attention.self.query."},
                                            {"attention.k_lin.", "attention.self.key."},
                                            {"attention.v_lin.", "attention.self.value."},
                                            {"attention.out_lin.", "attention.output.dense."},
                                            {"sa_layer_norm.", "attention.output.LayerNorm."},
                                            {"ffn.lin1.", "intermediate.dense."},
                                            {"ffn.lin2.", "output.dense."},
                                            {"output_layer_norm.", "output.LayerNorm."}};
inline constexpr Renaming kDistilNames[] = {
    {"vocab_transform.", "cls.predictions.transform.dense."},
    {"vocab_layer_norm.", "cls.predictions.transform.LayerNorm."},
    {"vocab_projector.weight", "cls.predictions.decoder.weight"},
    {"vocab_projector.bias", "cls.predictions.bias"},
    {"pre_classifier.", "classifier.dense."},
    {"classifier.", "classifier.out_proj.", "pre_classifier.weight"}};

inline constexpr Family kDistilBert = {.model_type = "distilbert",
                                       .class_prefix = "DistilBert",
                                       .tensor_prefix = "distilbert.",
                                       .telling_keys = {"n_heads", "dim"},
                                       .sizes = kDistilSizes,
                                       .fixed = kAbsolute,
                                       .activation_keys = {"activation"},
                                       .layer_norm_eps_keys = {},
                                       .hidden_dropout_key = "dropout",
                                       .attention_dropout_key = "attention_dropout",
                                       .classifier_dropout_key = "seq_classif_dropout",
                                       .classifier_dropout = 0.2,
                                       .layer_prefixes = {"transformer.layer."},
                                       .layer_names = kDistilLayer,
                                       .names = kDistilNames,
                                       .text_head_act = Activation::relu,
                                       .drops_attention_output = false,
                                       .answers_dropout_key = "qa_dropout",
                                       .classifier_dropout_texts = true};

// ---- ELECTRA (Clark et al. 2020): embeddings narrower than the layers, no pooler

inline constexpr auto kElectraSizes = with(
    bert_sizes(
        {.vocab = 30522, .positions = 512, .hidden = 256, .layers = 12, .heads = 4, .inner = 1024}),
    types_size(2, 1), SizeKey{&Config::embedding_size, {"embedding_size"}, 128, kMaxWidth});

inline constexpr Renaming kElectraNames[] = {
    {"generator_predictions.dense.", "cls.predictions.transform.dense."},
    {"generator_predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"generator_lm_head.weight", "cls.predictions.decoder.weight"},
    {"generator_lm_head.bias", "cls.predictions.bias"}};

inline constexpr Family kElectra = {.model_type = "electra",
                                    .class_prefix = "Electra",
                                    .tensor_prefix = "electra.",
                                    .sizes = kElectraSizes,
                                    .fixed = kAbsolute,
                                    .names = kElectraNames,
                                    .text_head_act = Activation::gelu,
                                    // transformers' ElectraGeneratorPredictions
                                    .mlm_act = Activation::gelu,
                                    .discriminator = true,
                                    .drops_before_text_head = true};

// ---- ALBERT (Lan et al. 2020): layers share their weights

inline constexpr auto kAlbertSizes =
    with(bert_sizes({.vocab = 30000,
                     .positions = 512,
                     .hidden = 4096,
                     .layers = 12,
                     .heads = 64,
                     .inner = 16384}),
         types_size(2, 1), SizeKey{&Config::embedding_size, {"embedding_size"}, 128, kMaxWidth},
         SizeKey{&Config::num_hidden_groups, {"num_hidden_groups"}, 1, kMaxLayers, 1, false},
         SizeKey{&Config::inner_group_num, {"inner_group_num"}, 1, kMaxLayers, 1, false});

inline constexpr Renaming kAlbertLayer[] = {{"attention.query.", "attention.self.query."},
                                            {"attention.key.", "attention.self.key."},
                                            {"attention.value.", "attention.self.value."},
                                            {"attention.dense.", "attention.output.dense."},
                                            {"attention.LayerNorm.", "attention.output.LayerNorm."},
                                            {"ffn.", "intermediate.dense."},
                                            {"ffn_output.", "output.dense."},
                                            {"full_layer_layer_norm.", "output.LayerNorm."}};
inline constexpr Renaming kAlbertNames[] = {
    {"encoder.embedding_hidden_mapping_in.", "embeddings_project."},
    {"pooler.weight", "pooler.dense.weight"},
    {"pooler.bias", "pooler.dense.bias"},
    {"predictions.dense.", "cls.predictions.transform.dense."},
    {"predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"predictions.decoder.", "cls.predictions.decoder."},
    {"predictions.bias", "cls.predictions.bias"},
    {"sop_classifier.classifier.", "cls.seq_relationship."}};

inline constexpr Family kAlbert = {.model_type = "albert",
                                   .class_prefix = "Albert",
                                   .tensor_prefix = "albert.",
                                   .sizes = kAlbertSizes,
                                   .fixed = kAbsolute,
                                   .activation = "gelu_new",
                                   .classifier_dropout_key = "classifier_dropout_prob",
                                   .hidden_dropout = 0,
                                   .attention_dropout = 0,
                                   .classifier_dropout = 0.1,
                                   .layer_prefixes = {"encoder.albert_layer_groups."},
                                   .in_group = "albert_layers.",
                                   .layer_names = kAlbertLayer,
                                   .names = kAlbertNames,
                                   .projects_always = true,
                                   .pooler = true,
                                   .text_head = TextHead::pooled,
                                   .next_sentence = true,
                                   .drops_net_output = false,
                                   .saves_decoder_bias = true};

// ---- ERNIE 2 and 3 (Sun et al. 2020): BERT with a vector for the task, that of the first here

inline constexpr auto kErnieSizes =
    with(bert_sizes({.vocab = 30522,
                     .positions = 512,
                     .hidden = 768,
                     .layers = 12,
                     .heads = 12,
                     .inner = 3072}),
         types_size(2, 1),
         SizeKey{&Config::task_type_vocab_size, {"task_type_vocab_size"}, 3, kMaxRows, 1, false});
inline constexpr FlagKey kErnieFlags[] = {{&Config::task_types, "use_task_id", false}};

constexpr Family ernie() {
  Family family =
      like(kBert, {.model_type = "ernie", .class_prefix = "Ernie", .tensor_prefix = "ernie."});
  family.telling_keys = {};
  family.sizes = kErnieSizes;
  family.flags = kErnieFlags;
  return family;
}
inline constexpr Family kErnie = ernie();

// ---- Megatron-BERT (Shoeybi et al. 2019): norms before, none of the embeddings

inline constexpr Renaming kMegatronLayer[] = {{"attention.ln.", "attention.output.LayerNorm."},
                                              {"ln.", "output.LayerNorm."}};
inline constexpr Renaming kMegatronNames[] = {{"encoder.ln.", "encoder.final_norm."}};

inline constexpr Family kMegatronBert = {.model_type = "megatron-bert",
                                         .class_prefix = "MegatronBert",
                                         .tensor_prefix = "bert.",
                                         .sizes = kBertSizes,
                                         .fixed = kAbsolute,
                                         .layer_names = kMegatronLayer,
                                         .names = kMegatronNames,
                                         .norms = NormPlace::before,
                                         .embedding_norm = false,
                                         .pooler = true,
                                         .text_head = TextHead::pooled,
                                         .next_sentence = true,
                                         .saves_decoder_bias = true};

// ---- RemBERT (Chung et al. 2021): narrow embeddings, and a decoder of its own width

inline constexpr auto kRemBertSizes = with(
    bert_sizes({.vocab = 250300,
                .positions = 512,
                .hidden = 1152,
                .layers = 32,
                .heads = 18,
                .inner = 4608}),
    types_size(2, 1), SizeKey{&Config::embedding_size, {"input_embedding_size"}, 256, kMaxWidth},
    SizeKey{&Config::output_embedding_size, {"output_embedding_size"}, 1664, kMaxWidth, 1, false});

inline constexpr Renaming kRemBertNames[] = {
    {"encoder.embedding_hidden_mapping_in.", "embeddings_project."},
    {"cls.predictions.dense.", "cls.predictions.transform.dense."},
    {"cls.predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"cls.predictions.decoder.bias", "cls.predictions.bias"}};

inline constexpr Family kRemBert = {.model_type = "rembert",
                                    .class_prefix = "RemBert",
                                    .tensor_prefix = "rembert.",
                                    .sizes = kRemBertSizes,
                                    .fixed = kAbsolute,
                                    .classifier_dropout_key = "classifier_dropout_prob",
                                    .hidden_dropout = 0,
                                    .attention_dropout = 0,
                                    .classifier_dropout = 0.1,
                                    .ties_words = false,
                                    .names = kRemBertNames,
                                    .projects_always = true,
                                    .pooler = true,
                                    .text_head = TextHead::pooled};

// ---- MobileBERT (Sun et al. 2020): narrow layers with several feed-forward nets, between
// bottlenecks

inline constexpr auto kMobileBertSizes = with(
    bert_sizes(
        {.vocab = 30522, .positions = 512, .hidden = 512, .layers = 24, .heads = 4, .inner = 512}),
    types_size(2, 1), SizeKey{&Config::embedding_size, {"embedding_size"}, 128, kMaxWidth},
    SizeKey{&Config::bottleneck_size, {"intra_bottleneck_size"}, 128, kMaxWidth},
    SizeKey{&Config::feed_forward_nets, {"num_feedforward_networks"}, 4, 4});
inline constexpr FlagKey kMobileBertFlags[] = {
    {&Config::pooler_dense, "classifier_activation", true}};
inline constexpr FixedKey kMobileBertFixed[] = {{"normalization_type", "no_norm"},
                                                {"trigram_input", "true"},
                                                {"use_bottleneck", "true"},
                                                {"key_query_shared_bottleneck", "true"},
                                                {"use_bottleneck_attention", "false"}};
inline constexpr Renaming kMobileBertNames[] = {
    {"embeddings.embedding_transformation.", "embeddings_project."}};

inline constexpr Family kMobileBert = {.model_type = "mobilebert",
                                       .class_prefix = "MobileBert",
                                       .tensor_prefix = "mobilebert.",
                                       .sizes = kMobileBertSizes,
                                       .flags = kMobileBertFlags,
                                       .fixed = kMobileBertFixed,
                                       .activation = "relu",
                                       .names = kMobileBertNames,
                                       .norm_kind = NormKind::affine,
                                       .trigrams = true,
                                       .projects_always = true,
                                       .pooler = true,
                                       .text_head = TextHead::pooled,
                                       .splits_decoder = true,
                                       .next_sentence = true,
                                       .saves_decoder_bias = true};

// ---- DPR (Karpukhin et al. 2020): BERT whose first hidden state is the vector of a question or of
// a passage

inline constexpr FixedKey kDprFixed[] = {
    {"position_embedding_type", "absolute", "relative positions are not supported"},
    {"projection_dim", "0", "a projection behind the vector is not supported"}};

inline constexpr Family kDpr = {.model_type = "dpr",
                                .class_prefix = "DPR",
                                .tensor_prefix = "question_encoder.bert_model.",
                                .sizes = kBertSizes,
                                .fixed = kDprFixed,
                                .refused_class = "DPRReader",
                                .older_prefix = "ctx_encoder.bert_model.",
                                .vector_class = "QuestionEncoder",
                                .not_trained = "transformers has no class of it with a head"};

}  // namespace bert::family_rows
