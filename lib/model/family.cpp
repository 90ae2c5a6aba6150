#include "model/family.h"

#include "model/config.h"

namespace bert {
namespace {

constexpr size_t kMaxWidth = size_t{1} << 20, kMaxRows = size_t{1} << 27, kMaxLayers = 1000;

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
                          .pooler = true,
                          .text_head = TextHead::pooled,
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
                                .activation_key = "activation",
                                .layer_norm_eps_key = "",
                                .hidden_dropout_key = "dropout",
                                .attention_dropout_key = "attention_dropout",
                                .classifier_dropout_key = "seq_classif_dropout",
                                .classifier_dropout = 0.2,
                                .layer_prefix = "transformer.layer.",
                                .layer_names = kDistilLayer,
                                .names = kDistilNames,
                                .text_head_act = Activation::relu,
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
                             .names = kElectraNames,
                             .text_head_act = Activation::gelu,
                             // transformers' ElectraGeneratorPredictions
                             .mlm_act = Activation::gelu,
                             .discriminator = true,
                             .drops_before_text_head = true};

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
constexpr Renaming kMPNetNames[] = {{"lm_head.dense.", "cls.predictions.transform.dense."},
                                    {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."},
                                    {"lm_head.decoder.", "cls.predictions.decoder."},
                                    {"lm_head.bias", "cls.predictions.bias"}};

constexpr Family kMPNet = {.model_type = "mpnet",
                           .class_prefix = "MPNet",
                           .tensor_prefix = "mpnet.",
                           .sizes = kMPNetSizes,
                           .layer_names = kMPNetLayer,
                           .names = kMPNetNames,
                           .first_position = 2,
                           .pooler = true,
                           .text_head_act = Activation::tanh,
                           .mlm_act = Activation::gelu,
                           .trainable = false,
                           .drops_before_text_head = true,
                           .saves_decoder_bias = true};

constexpr Family kFamilies[] = {kBert, kDistilBert, kElectra, kMPNet};

}  // namespace

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
