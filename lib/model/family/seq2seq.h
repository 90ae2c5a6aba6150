#pragma once

#include "model/family/bert.h"
#include "model/family/roberta.h"

namespace bert::family_rows {

// ---- Marian (Junczys-Dowmunt et al. 2018): the Transformer of Vaswani et al. 2017. Its two
// halves; seq2seq_config.h puts them together.

struct HalfKeys {
  std::string_view layers, heads, inner;
};
constexpr std::array<SizeKey, 6> half_sizes(const HalfKeys& keys, size_t vocab) {
  return {{{&Config::vocab_size, {"vocab_size"}, vocab, kMaxRows},
           {&Config::max_position_embeddings, {"max_position_embeddings"}, 1024, kMaxRows},
           {&Config::hidden_size, {"d_model"}, 1024, kMaxWidth},
           {&Config::num_hidden_layers, {keys.layers}, 12, kMaxLayers, 0},
           {&Config::num_attention_heads, {keys.heads}, 16, kMaxWidth},
           {&Config::intermediate_size, {keys.inner}, 4096, kMaxWidth}}};
}
inline constexpr HalfKeys kEncoderKeys{"encoder_layers", "encoder_attention_heads",
                                       "encoder_ffn_dim"};
inline constexpr HalfKeys kDecoderKeys{"decoder_layers", "decoder_attention_heads",
                                       "decoder_ffn_dim"};
inline constexpr auto kMarianEncoderSizes = half_sizes(kEncoderKeys, 58101);
inline constexpr auto kMarianDecoderSizes = half_sizes(kDecoderKeys, 58101);

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
                                            {"model.shared.", "embeddings.word_embeddings."},
                                            {"shared.", "embeddings.word_embeddings."},
                                            {"lm_head.", "cls.predictions.decoder."},
                                            {"final_logits_bias", "cls.predictions.bias"}};

/// Why an encoder here is trained by train-seq2seq alone, with its decoder.
inline constexpr std::string_view kHalf = "it is a half of a model that translates";

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
                                          .embedding_norm = false,
                                          .scales_key = "scale_embedding",
                                          .not_trained = kHalf};
constexpr Family marian_decoder() {
  Family family = kMarianEncoder;
  family.tensor_prefix = "model.decoder.";
  family.sizes = kMarianDecoderSizes;
  family.cross_attention = true;
  return family;
}
inline constexpr Family kMarianDecoder = marian_decoder();

// ---- BART (Lewis et al. 2020), mBART (Liu et al. 2020), PEGASUS (Zhang et al. 2020) and M2M100
// (Fan et al. 2021), of which NLLB is: Marian's halves with other norms and positions

inline constexpr Renaming kBartNames[] = {{"embed_tokens.", "embeddings.word_embeddings."},
                                          {"embed_positions.", "embeddings.position_embeddings."},
                                          {"layernorm_embedding.", "embeddings.LayerNorm."},
                                          {"layer_norm.", "encoder.final_norm."},
                                          {"model.shared.", "embeddings.word_embeddings."},
                                          {"shared.", "embeddings.word_embeddings."},
                                          {"classification_head.", "classifier."},
                                          {"lm_head.", "cls.predictions.decoder."},
                                          {"final_logits_bias", "cls.predictions.bias"}};

inline constexpr TextInputName kLastEnd[] = {{"", TextInput::last_end}};

constexpr Family bart_half() {
  Family family = kMarianEncoder;
  family.model_type = "bart";
  family.class_prefix = "Bart";
  family.older_prefix = "encoder.";
  family.names = kBartNames;
  family.pad_token_id = 1;
  family.positions = Positions::table;
  family.first_position = 2;
  family.more_positions = 2;
  family.padding_has_place = true;
  family.embedding_norm = true;
  family.masked_lm = false;
  family.mlm_transform = false;
  family.text_inputs = kLastEnd;
  family.text_head_act = Activation::tanh;
  return family;
}
inline constexpr Family kBartEncoder = bart_half();

constexpr Family mbart_half() {
  Family family = like(kBartEncoder, {.model_type = "mbart", .class_prefix = "MBart"});
  family.refused_class = "MBartForSequenceClassification";
  family.norms = NormPlace::before;
  return family;
}
inline constexpr Family kMBartEncoder = mbart_half();

constexpr Family pegasus_half() {
  Family family = like(kMBartEncoder, {.model_type = "pegasus", .class_prefix = "Pegasus"});
  family.pad_token_id = 0;
  family.positions = Positions::waves;
  family.first_position = 0;
  family.more_positions = 0;
  family.embedding_norm = false;
  return family;
}
inline constexpr Family kPegasusEncoder = pegasus_half();

constexpr Family m2m_half() {
  Family family = like(kMBartEncoder, {.model_type = "m2m_100", .class_prefix = "M2M100"});
  family.activation = "relu";
  family.scales_embeddings = true;
  family.positions = Positions::steep_waves;
  family.first_position = 0;
  family.first_behind_padding = true;
  family.padding_has_place = false;
  family.embedding_norm = false;
  return family;
}
inline constexpr Family kM2M100Encoder = m2m_half();

constexpr Family bart_decoder(Family family) {
  family.tensor_prefix = "model.decoder.";
  family.older_prefix = "decoder.";
  family.sizes = kMarianDecoderSizes;
  family.cross_attention = true;
  return family;
}
inline constexpr Family kBartDecoder = bart_decoder(kBartEncoder);
inline constexpr Family kMBartDecoder = bart_decoder(kMBartEncoder);
inline constexpr Family kPegasusDecoder = bart_decoder(kPegasusEncoder);
inline constexpr Family kM2M100Decoder = bart_decoder(kM2M100Encoder);

// ---- T5 (Raffel et al. 2020), mT5 (Xue et al. 2021), UMT5 (Chung et al. 2023): RMS norms before,
// scores that are not scaled and have numbers by distance, nets that may be gated (T5 1.1, FLAN)

struct T5Keys {
  std::string_view layers, absent_layers = {};
};
constexpr std::array<SizeKey, 9> t5_sizes(const T5Keys& keys, size_t vocab) {
  return {{{&Config::vocab_size, {"vocab_size"}, vocab, kMaxRows},
           // Distances are all that it knows of places: no text is too long.
           {&Config::max_position_embeddings, {}, kMaxRows, kMaxRows, 1, false},
           {&Config::hidden_size, {"d_model"}, 512, kMaxWidth},
           {&Config::num_hidden_layers,
            {keys.layers, keys.absent_layers},
            6,
            kMaxLayers,
            0,
            true,
            true},
           {&Config::num_attention_heads, {"num_heads"}, 8, kMaxWidth},
           {&Config::head_width, {"d_kv"}, 64, kMaxWidth, 1, false},
           {&Config::intermediate_size, {"d_ff"}, 2048, kMaxWidth},
           {&Config::relative_attention_num_buckets,
            {"relative_attention_num_buckets"},
            32,
            kMaxRows,
            2,
            false},
           {&Config::relative_attention_max_distance,
            {"relative_attention_max_distance"},
            128,
            kMaxRows,
            2,
            false}}};
}
inline constexpr auto kT5EncoderSizes = t5_sizes({"num_layers"}, 32128);
inline constexpr auto kT5DecoderSizes = t5_sizes({"num_decoder_layers", "num_layers"}, 32128);

inline constexpr FlagKey kT5Flags[] = {{&Config::position_table, "", false},
                                       {&Config::attention_bias, "", false},
                                       {&Config::intermediate_bias, "", false},
                                       {&Config::output_bias, "", false},
                                       {&Config::decoder_bias, "", false}};
inline constexpr Renaming kT5Attention[] = {
    {"layer.0.SelfAttention.q.", "attention.self.query."},
    {"layer.0.SelfAttention.k.", "attention.self.key."},
    {"layer.0.SelfAttention.v.", "attention.self.value."},
    {"layer.0.SelfAttention.o.", "attention.output.dense."},
    {"layer.0.SelfAttention.relative_attention_bias.", "attention.self.distance_bias."},
    {"layer.0.layer_norm.", "attention.output.LayerNorm."},
    {"layer.1.EncDecAttention.q.", "crossattention.self.query."},
    {"layer.1.EncDecAttention.k.", "crossattention.self.key."},
    {"layer.1.EncDecAttention.v.", "crossattention.self.value."},
    {"layer.1.EncDecAttention.o.", "crossattention.output.dense."}};
/// The net stands behind attention, which a decoder has twice.
constexpr std::array<Renaming, 14> t5_layer(bool decoder, bool gated) {
  constexpr Renaming kNets[2][4] = {{{"layer.1.DenseReluDense.wi.", "intermediate.dense."},
                                     {"layer.1.DenseReluDense.wo.", "output.dense."},
                                     {"layer.1.layer_norm.", "output.LayerNorm."},
                                     {"layer.1.DenseReluDense.wi_1.", "intermediate.up."}},
                                    {{"layer.2.DenseReluDense.wi.", "intermediate.dense."},
                                     {"layer.2.DenseReluDense.wo.", "output.dense."},
                                     {"layer.2.layer_norm.", "output.LayerNorm."},
                                     {"layer.2.DenseReluDense.wi_1.", "intermediate.up."}}};
  std::array<Renaming, 14> all{};
  size_t n = 0;
  for (const Renaming& r : kT5Attention) all[n++] = r;
  for (const Renaming& r : kNets[decoder]) all[n++] = r;
  if (gated) {
    all[10].file = decoder ? "layer.2.DenseReluDense.wi_0." : "layer.1.DenseReluDense.wi_0.";
  }
  return all;
}
inline constexpr auto kT5Layer = t5_layer(false, false), kT5GatedLayer = t5_layer(false, true);
constexpr auto t5_decoder_layer(bool gated) {
  return with(t5_layer(true, gated),
              Renaming{"layer.1.layer_norm.", "crossattention.output.LayerNorm."});
}
inline constexpr auto kT5DecoderLayer = t5_decoder_layer(false),
                      kT5GatedDecoderLayer = t5_decoder_layer(true);
inline constexpr Renaming kT5Names[] = {{"embed_tokens.", "embeddings.word_embeddings."},
                                        {"final_layer_norm.", "encoder.final_norm."},
                                        {"shared.", "embeddings.word_embeddings."},
                                        {"lm_head.", "cls.predictions.decoder."}};

inline constexpr Family kT5Encoder = {.model_type = "t5",
                                      .class_prefix = "T5",
                                      .tensor_prefix = "encoder.",
                                      .sizes = kT5EncoderSizes,
                                      .flags = kT5Flags,
                                      .activation_keys = {"feed_forward_proj"},
                                      .activation = "relu",
                                      .layer_norm_eps_keys = {"layer_norm_epsilon"},
                                      .layer_norm_eps = 1e-6,
                                      .hidden_dropout_key = "dropout_rate",
                                      .attention_dropout_key = "dropout_rate",
                                      .layer_prefixes = {"block."},
                                      .layer_names = kT5Layer,
                                      .names = kT5Names,
                                      .distance_bias = BiasPlace::first_layer,
                                      .scales_scores = false,
                                      .norms = NormPlace::before,
                                      .norm_kind = NormKind::rms,
                                      .embedding_norm = false,
                                      .masked_lm = false,
                                      .mlm_transform = false,
                                      .not_trained = kHalf};
constexpr Family t5_half(bool decoder, bool gated, const Naming& naming,
                         BiasPlace bias = BiasPlace::first_layer) {
  Family family = like(kT5Encoder, naming);
  family.distance_bias = bias;
  if (gated) {
    family.gated = true;
    family.activation = "gated-gelu";
    family.layer_names = kT5GatedLayer;
  }
  if (!decoder) return family;
  family.tensor_prefix = "decoder.";
  family.sizes = kT5DecoderSizes;
  family.layer_names = kT5DecoderLayer;
  if (gated) family.layer_names = kT5GatedDecoderLayer;
  family.cross_attention = true;
  return family;
}
inline constexpr Naming kT5{.model_type = "t5", .class_prefix = "T5"};
inline constexpr Naming kMT5{.model_type = "mt5", .class_prefix = "MT5"};
inline constexpr Naming kUMT5{.model_type = "umt5", .class_prefix = "UMT5"};
inline constexpr Family kT5Decoder = t5_half(true, false, kT5);
inline constexpr Family kGatedT5Encoder = t5_half(false, true, kT5);
inline constexpr Family kGatedT5Decoder = t5_half(true, true, kT5);
inline constexpr Family kMT5Encoder = t5_half(false, false, kMT5);
inline constexpr Family kMT5Decoder = t5_half(true, false, kMT5);
inline constexpr Family kGatedMT5Encoder = t5_half(false, true, kMT5);
inline constexpr Family kGatedMT5Decoder = t5_half(true, true, kMT5);
inline constexpr Family kUMT5Encoder = t5_half(false, false, kUMT5, BiasPlace::layers);
inline constexpr Family kUMT5Decoder = t5_half(true, false, kUMT5, BiasPlace::layers);
inline constexpr Family kGatedUMT5Encoder = t5_half(false, true, kUMT5, BiasPlace::layers);
inline constexpr Family kGatedUMT5Decoder = t5_half(true, true, kUMT5, BiasPlace::layers);

// ---- Both halves together, Marian's first

constexpr Seq2SeqFamily of_bart(const Family& encoder, const Family& decoder) {
  return {.encoder = &encoder, .decoder = &decoder, .shared_words = "model.shared.weight"};
}
constexpr Seq2SeqFamily of_t5(const Family& encoder, const Family& decoder, bool scales_output,
                              std::string_view net_absent) {
  return {.encoder = &encoder,
          .decoder = &decoder,
          .shared_words = "shared.weight",
          .scales_output = scales_output,
          .net_key = "feed_forward_proj",
          .net_absent = net_absent};
}
inline constexpr std::string_view kPlainNet = "relu", kGatedNet = "gated-gelu";
inline constexpr Seq2SeqFamily kSeq2SeqFamilies[] = {
    {.encoder = &kMarianEncoder,
     .decoder = &kMarianDecoder,
     .shared_words = "model.shared.weight",
     .own_tables = true,
     .trainable = true},
    of_bart(kBartEncoder, kBartDecoder),
    of_bart(kMBartEncoder, kMBartDecoder),
    of_bart(kPegasusEncoder, kPegasusDecoder),
    of_bart(kM2M100Encoder, kM2M100Decoder),
    of_t5(kT5Encoder, kT5Decoder, true, kPlainNet),
    of_t5(kGatedT5Encoder, kGatedT5Decoder, true, kPlainNet),
    of_t5(kMT5Encoder, kMT5Decoder, false, kGatedNet),
    of_t5(kGatedMT5Encoder, kGatedMT5Decoder, false, kGatedNet),
    of_t5(kUMT5Encoder, kUMT5Decoder, true, kGatedNet),
    of_t5(kGatedUMT5Encoder, kGatedUMT5Decoder, true, kGatedNet)};

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
