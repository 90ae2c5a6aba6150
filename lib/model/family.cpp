#include "model/family.h"

#include "model/config.h"

namespace bert {
namespace {

constexpr size_t kMaxWidth = size_t{1} << 20, kMaxRows = size_t{1} << 27, kMaxLayers = 1000;

struct Naming {
  std::string_view model_type, class_prefix;
  std::string_view tensor_prefix = {};  ///< empty: the same
};

/// The same models under another name.
constexpr Family like(Family family, const Naming& naming) {
  family.model_type = naming.model_type;
  family.class_prefix = naming.class_prefix;
  if (!naming.tensor_prefix.empty()) family.tensor_prefix = naming.tensor_prefix;
  return family;
}

constexpr FixedKey kAbsolute[] = {
    {"position_embedding_type", "absolute", "relative positions are not supported"},
    {"is_decoder", "false", "decoders are not supported"},
    {"add_cross_attention", "false", "decoders are not supported"}};

// ---- BERT (Devlin et al. 2019)

constexpr SizeKey kBertSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30522, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 3072, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 1, false}};

constexpr Family kBert = {.model_type = "bert",
                          .class_prefix = "Bert",
                          .tensor_prefix = "bert.",
                          .telling_keys = {"num_attention_heads", "hidden_size"},
                          .sizes = kBertSizes,
                          .fixed = kAbsolute,
                          .pooler = true,
                          .text_head = TextHead::pooled,
                          .trainable = true,
                          .next_sentence = true,
                          .saves_decoder_bias = true};

// ---- DistilBERT (Sanh et al. 2019): no token types, no pooler, names of its own

constexpr SizeKey kDistilSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30522, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"dim", "hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"n_layers", "num_hidden_layers"}, 6, kMaxLayers, 0},
    {&Config::num_attention_heads, {"n_heads", "num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"hidden_dim"}, 3072, kMaxWidth}};

constexpr Renaming kDistilLayer[] = {{"attention.q_lin.", "attention.self.query."},
                                     {"attention.k_lin.", "attention.self.key."},
                                     {"attention.v_lin.", "attention.self.value."},
                                     {"attention.out_lin.", "attention.output.dense."},
                                     {"sa_layer_norm.", "attention.output.LayerNorm."},
                                     {"ffn.lin1.", "intermediate.dense."},
                                     {"ffn.lin2.", "output.dense."},
                                     {"output_layer_norm.", "output.LayerNorm."}};
constexpr Renaming kDistilNames[] = {
    {"vocab_transform.", "cls.predictions.transform.dense."},
    {"vocab_layer_norm.", "cls.predictions.transform.LayerNorm."},
    {"vocab_projector.weight", "cls.predictions.decoder.weight"},
    {"vocab_projector.bias", "cls.predictions.bias"},
    {"pre_classifier.", "classifier.dense."},
    {"classifier.", "classifier.out_proj.", "pre_classifier.weight"}};

constexpr Family kDistilBert = {.model_type = "distilbert",
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
                                .trainable = true,
                                .drops_attention_output = false,
                                .answers_dropout_key = "qa_dropout",
                                .classifier_dropout_texts = true};

// ---- ELECTRA (Clark et al. 2020): embeddings narrower than the layers, no pooler

constexpr SizeKey kElectraSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30522, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 256, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 4, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 1024, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 1, false},
    {&Config::embedding_size, {"embedding_size"}, 128, kMaxWidth}};

constexpr Renaming kElectraNames[] = {
    {"generator_predictions.dense.", "cls.predictions.transform.dense."},
    {"generator_predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"generator_lm_head.weight", "cls.predictions.decoder.weight"},
    {"generator_lm_head.bias", "cls.predictions.bias"}};

constexpr Family kElectra = {.model_type = "electra",
                             .class_prefix = "Electra",
                             .tensor_prefix = "electra.",
                             .sizes = kElectraSizes,
                             .fixed = kAbsolute,
                             .names = kElectraNames,
                             .text_head_act = Activation::gelu,
                             // transformers' ElectraGeneratorPredictions
                             .mlm_act = Activation::gelu,
                             .trainable = true,
                             .discriminator = true,
                             .drops_before_text_head = true};

// ---- RoBERTa (Liu et al. 2019), CamemBERT (Martin et al. 2020) and XLM-RoBERTa (Conneau et al.
// 2020): positions behind the padding token's; they differ in their tokenizers

constexpr SizeKey kRobertaSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 50265, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows, 3},
    {&Config::hidden_size, {"hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 3072, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 1, false}};

/// Of the heads of RoBERTa and its descendants.
constexpr Renaming kLmHead[] = {{"lm_head.dense.", "cls.predictions.transform.dense."},
                                {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."},
                                {"lm_head.decoder.", "cls.predictions.decoder."},
                                {"lm_head.bias", "cls.predictions.bias"}};

constexpr Family kRoberta = {.model_type = "roberta",
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
                             .trainable = true,
                             .drops_before_text_head = true,
                             .saves_decoder_bias = true};
constexpr Family kCamembert =
    like(kRoberta, {.model_type = "camembert", .class_prefix = "Camembert"});
constexpr Family kXlmRoberta =
    like(kRoberta, {.model_type = "xlm-roberta", .class_prefix = "XLMRoberta"});

constexpr Family kData2Vec = like(kRoberta, {.model_type = "data2vec-text",
                                             .class_prefix = "Data2VecText",
                                             .tensor_prefix = "data2vec_text."});

// ---- MPNet (Song et al. 2020): positions behind the padding token's and a bias by relative
// position

constexpr SizeKey kMPNetSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30527, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows, 3},
    {&Config::hidden_size, {"hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 3072, kMaxWidth},
    // The reference reads 32 rows of the table, whatever its size.
    {&Config::relative_attention_num_buckets,
     {"relative_attention_num_buckets"},
     32,
     kMaxRows,
     32,
     false}};

constexpr Renaming kMPNetLayer[] = {{"attention.attn.q.", "attention.self.query."},
                                    {"attention.attn.k.", "attention.self.key."},
                                    {"attention.attn.v.", "attention.self.value."},
                                    {"attention.attn.o.", "attention.output.dense."},
                                    {"attention.LayerNorm.", "attention.output.LayerNorm."}};
constexpr Family kMPNet = {.model_type = "mpnet",
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
                           .trainable = true,
                           .drops_before_text_head = true,
                           .saves_decoder_bias = true};

// ---- ALBERT (Lan et al. 2020): layers share their weights

constexpr SizeKey kAlbertSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30000, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 512, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 4096, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 64, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 16384, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 1, false},
    {&Config::embedding_size, {"embedding_size"}, 128, kMaxWidth},
    {&Config::num_hidden_groups, {"num_hidden_groups"}, 1, kMaxLayers, 1, false},
    {&Config::inner_group_num, {"inner_group_num"}, 1, kMaxLayers, 1, false}};

constexpr Renaming kAlbertLayer[] = {{"attention.query.", "attention.self.query."},
                                     {"attention.key.", "attention.self.key."},
                                     {"attention.value.", "attention.self.value."},
                                     {"attention.dense.", "attention.output.dense."},
                                     {"attention.LayerNorm.", "attention.output.LayerNorm."},
                                     {"ffn.", "intermediate.dense."},
                                     {"ffn_output.", "output.dense."},
                                     {"full_layer_layer_norm.", "output.LayerNorm."}};
constexpr Renaming kAlbertNames[] = {
    {"encoder.embedding_hidden_mapping_in.", "embeddings_project."},
    {"pooler.weight", "pooler.dense.weight"},
    {"pooler.bias", "pooler.dense.bias"},
    {"predictions.dense.", "cls.predictions.transform.dense."},
    {"predictions.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"predictions.decoder.", "cls.predictions.decoder."},
    {"predictions.bias", "cls.predictions.bias"},
    {"sop_classifier.classifier.", "cls.seq_relationship."}};

constexpr Family kAlbert = {.model_type = "albert",
                            .class_prefix = "Albert",
                            .tensor_prefix = "albert.",
                            .sizes = kAlbertSizes,
                            .fixed = kAbsolute,
                            .activation = "gelu_new",
                            .layer_prefixes = {"encoder.albert_layer_groups."},
                            .in_group = "albert_layers.",
                            .layer_names = kAlbertLayer,
                            .names = kAlbertNames,
                            .projects_always = true,
                            .pooler = true,
                            .text_head = TextHead::pooled,
                            .next_sentence = true,
                            .saves_decoder_bias = true};

// ---- DeBERTa, versions 2 and 3 (He et al. 2021): disentangled attention

constexpr SizeKey kDebertaSizes[] = {
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

constexpr Renaming kDebertaLayer[] = {{"attention.self.query_proj.", "attention.self.query."},
                                      {"attention.self.key_proj.", "attention.self.key."},
                                      {"attention.self.value_proj.", "attention.self.value."}};
constexpr Renaming kDebertaNames[] = {{"embeddings.embed_proj.", "embeddings_project."}};
/// Of the head of version 3, which `legacy` says.
constexpr Renaming kDebertaHead[] = {
    {"lm_predictions.lm_head.dense.", "cls.predictions.transform.dense."},
    {"lm_predictions.lm_head.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"lm_predictions.lm_head.bias", "cls.predictions.bias"}};

constexpr Family kDeberta = {.model_type = "deberta-v2",
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

// ---- ModernBERT (Warner et al. 2024): norms before, rotary positions, most layers see near tokens

constexpr SizeKey kModernSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 50368, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 8192, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 22, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 1152, kMaxWidth},
    {&Config::max_window, {"local_attention"}, 128, kMaxRows, 0, false}};
constexpr FlagKey kModernFlags[] = {{&Config::attention_bias, "attention_bias", false},
                                    {&Config::intermediate_bias, "mlp_bias", false},
                                    {&Config::output_bias, "mlp_bias", false},
                                    {&Config::norm_bias, "norm_bias", false},
                                    {&Config::head_bias, "classifier_bias", false},
                                    {&Config::decoder_bias, "decoder_bias", true}};

constexpr Renaming kModernLayer[] = {{"attn.Wqkv.", "attention.self.query_key_value."},
                                     {"attn.Wo.", "attention.output.dense."},
                                     {"attn_norm.", "attention.output.LayerNorm."},
                                     {"mlp.Wi.", "intermediate.gate_up."},
                                     {"mlp.Wo.", "output.dense."},
                                     {"mlp_norm.", "output.LayerNorm."}};
constexpr Renaming kModernNames[] = {
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

constexpr Family kModernBert = {.model_type = "modernbert",
                                .class_prefix = "ModernBert",
                                .tensor_prefix = "model.",
                                .sizes = kModernSizes,
                                .flags = kModernFlags,
                                .activation_keys = {"hidden_activation"},
                                .layer_norm_eps_keys = {"norm_eps"},
                                .layer_norm_eps = 1e-5,
                                .pad_token_id = 50283,
                                .layer_prefixes = {"layers."},
                                .layer_names = kModernLayer,
                                .names = kModernNames,
                                .positions = Positions::rotary,
                                .rotary_theta = 160000,
                                .local_rotary_theta = 10000,
                                .rotary_theta_keys = {"global_rope_theta"},
                                .norms = NormPlace::before,
                                .gated = true,
                                .text_head = TextHead::transform};

// ---- NomicBERT (Nussbaum et al. 2024) and GTE (Zhang et al. 2024): BERT with rotary positions and
// gated nets. Both have a layout of their own on the hub and one of transformers.

/// What transformers' modules call a layer's tensors, of both; its files have the names of the hub.
constexpr Renaming kModuleLayer[] = {
    {"self_attn.q_proj.", "attention.self.query."},
    {"self_attn.k_proj.", "attention.self.key."},
    {"self_attn.v_proj.", "attention.self.value."},
    {"self_attn.o_proj.", "attention.output.dense."},
    {"attention.q_proj.", "attention.self.query."},  // GTE's without pack_qkv
    {"attention.k_proj.", "attention.self.key."},
    {"attention.v_proj.", "attention.self.value."},
    {"post_attention_layernorm.", "attention.output.LayerNorm."},
    {"mlp.gate_proj.", "intermediate.dense."},
    {"mlp.up_proj.", "intermediate.up."},
    {"mlp.down_proj.", "output.dense."},
    {"post_mlp_layernorm.", "output.LayerNorm."}};

constexpr SizeKey kNomicSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 30528, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings", "n_positions"}, 2048, kMaxRows},
    {&Config::hidden_size, {"hidden_size", "n_embd"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers", "n_layer"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads", "n_head"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size", "n_inner"}, 3072, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 2, kMaxRows, 0, false}};
constexpr FlagKey kNomicFlags[] = {{&Config::attention_bias, "qkv_proj_bias", false},
                                   {&Config::intermediate_bias, "mlp_fc1_bias", false},
                                   {&Config::output_bias, "mlp_fc2_bias", false}};
constexpr FixedKey kNomicFixed[] = {
    {"prenorm", "false"},      {"parallel_block", "false"},  {"causal", "false"},
    {"use_rms_norm", "false"}, {"rotary_emb_fraction", "1"}, {"rotary_emb_interleaved", "false"}};

constexpr Renaming kNomicLayer[] = {{"attn.Wqkv.", "attention.self.query_key_value."},
                                    {"attn.out_proj.", "attention.output.dense."},
                                    {"norm1.", "attention.output.LayerNorm."},
                                    {"mlp.fc12.", "intermediate.dense."},
                                    {"mlp.fc11.", "intermediate.up."},
                                    {"mlp.fc2.", "output.dense."},
                                    {"norm2.", "output.LayerNorm."}};
constexpr Renaming kNomicNames[] = {
    {"emb_ln.", "embeddings.LayerNorm."},
    {"cls.predictions.transform.layer_norm.", "cls.predictions.transform.LayerNorm."}};

constexpr Family kNomicBert = {.model_type = "nomic_bert",
                               .class_prefix = "NomicBert",
                               .tensor_prefix = "nomic_bert.",
                               .sizes = kNomicSizes,
                               .flags = kNomicFlags,
                               .fixed = kNomicFixed,
                               .activation_keys = {"hidden_act", "activation_function"},
                               .activation = "silu",
                               .layer_norm_eps_keys = {"layer_norm_eps", "layer_norm_epsilon"},
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

constexpr SizeKey kGteSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 250048, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 8192, kMaxRows},
    {&Config::hidden_size, {"hidden_size"}, 768, kMaxWidth},
    {&Config::num_hidden_layers, {"num_hidden_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"num_attention_heads"}, 12, kMaxWidth},
    {&Config::intermediate_size, {"intermediate_size"}, 3072, kMaxWidth},
    {&Config::type_vocab_size, {"type_vocab_size"}, 1, kMaxRows, 0, false}};
constexpr FlagKey kGteFlags[] = {{&Config::intermediate_bias, "", false}};
constexpr FixedKey kGteFixed[] = {{"position_embedding_type", "rope"},
                                  {"layer_norm_type", "layer_norm"},
                                  {"logn_attention_scale", "false"}};

constexpr Renaming kGteLayer[] = {{"attention.qkv_proj.", "attention.self.query_key_value."},
                                  {"attention.o_proj.", "attention.output.dense."},
                                  {"attn_ln.", "attention.output.LayerNorm."},
                                  {"mlp.up_gate_proj.", "intermediate.up_gate."},
                                  {"mlp.down_proj.", "output.dense."},
                                  {"mlp_ln.", "output.LayerNorm."}};
constexpr Renaming kGteNames[] = {{"lm_head.dense.", "cls.predictions.transform.dense."},
                                  {"lm_head.norm.", "cls.predictions.transform.LayerNorm."},
                                  {"lm_head.decoder.bias", "cls.predictions.bias"},
                                  {"lm_head.decoder.", "cls.predictions.decoder."}};

constexpr Renaming kGteModules[] = {
    {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."}};

constexpr Family kGte = {.model_type = "gte",
                         .class_prefix = "Gte",
                         .tensor_prefix = "gte.",
                         .sizes = kGteSizes,
                         .flags = kGteFlags,
                         .fixed = kGteFixed,
                         .pad_token_id = 1,
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
constexpr Family kNewGte = like(kGte, {.model_type = "new", .class_prefix = "New"});

constexpr Family kFamilies[] = {kBert,      kDistilBert, kElectra, kMPNet,   kRoberta,
                                kCamembert, kXlmRoberta, kAlbert,  kDeberta, kModernBert,
                                kNomicBert, kGte,        kNewGte,  kData2Vec};

// ---- Marian (Junczys-Dowmunt et al. 2018): the Transformer of Vaswani et al. 2017. Its two
// halves; seq2seq_config.h puts them together.

constexpr SizeKey kMarianEncoderSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 58101, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 1024, kMaxRows},
    {&Config::hidden_size, {"d_model"}, 1024, kMaxWidth},
    {&Config::num_hidden_layers, {"encoder_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"encoder_attention_heads"}, 16, kMaxWidth},
    {&Config::intermediate_size, {"encoder_ffn_dim"}, 4096, kMaxWidth}};
constexpr SizeKey kMarianDecoderSizes[] = {
    {&Config::vocab_size, {"vocab_size"}, 58101, kMaxRows},
    {&Config::max_position_embeddings, {"max_position_embeddings"}, 1024, kMaxRows},
    {&Config::hidden_size, {"d_model"}, 1024, kMaxWidth},
    {&Config::num_hidden_layers, {"decoder_layers"}, 12, kMaxLayers, 0},
    {&Config::num_attention_heads, {"decoder_attention_heads"}, 16, kMaxWidth},
    {&Config::intermediate_size, {"decoder_ffn_dim"}, 4096, kMaxWidth}};

constexpr Renaming kMarianLayer[] = {
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
constexpr Renaming kMarianNames[] = {{"embed_tokens.", "embeddings.word_embeddings."},
                                     {"embed_positions.", "embeddings.position_embeddings."},
                                     {"lm_head.", "cls.predictions.decoder."},
                                     {"final_logits_bias", "cls.predictions.bias"}};

constexpr Family kMarianEncoder = {.model_type = "marian",
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
constexpr Family kMarianDecoder = marian_decoder();

// ---- Decoders of EncoderDecoderModel: an encoder whose layers look at the source, too

constexpr Family decoder_of(Family family) {
  family.fixed = {kAbsolute, 1};
  family.cross_attention = true;
  family.pooler = false;
  return family;
}
constexpr Family kDecoders[] = {decoder_of(kBert), decoder_of(kRoberta), decoder_of(kCamembert),
                                decoder_of(kXlmRoberta)};

}  // namespace

const Family& marian_half(bool decoder) { return decoder ? kMarianDecoder : kMarianEncoder; }

const Family* decoder_family(std::string_view model_type) {
  for (const Family& family : kDecoders) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string decoder_family_list() {
  std::string list;
  for (const Family& family : kDecoders) {
    const bool last = &family == std::end(kDecoders) - 1;
    list.append(list.empty() ? "" : last ? " or " : ", ").append(family.model_type);
  }
  return list;
}

std::string_view Family::key_of(size_t Config::*field) const {
  for (const SizeKey& size : sizes) {
    if (size.field == field) return size.names[0];
  }
  return {};
}

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string family_list() {
  std::string list;
  for (const Family& family : kFamilies) {
    const bool last = &family == std::end(kFamilies) - 1;
    list.append(list.empty() ? "" : last ? " or " : ", ").append(family.model_type);
  }
  return list;
}

const Family* family_of_class(std::string_view class_name) {
  for (const Family& family : kFamilies) {
    if (class_name.starts_with(family.class_prefix)) return &family;
  }
  return nullptr;
}

}  // namespace bert
