#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"
#include "ops/linear.h"

namespace bert {

struct Config;

/// A size of the model in config.json.
struct SizeKey {
  size_t Config::*field;
  /// What the file may call it. The first name that the file has counts; messages use names[0].
  std::array<std::string_view, 2> names;
  size_t absent;             ///< where the file has none of the names
  size_t most;               ///< the largest value that is believed
  size_t least = 1;          ///< the smallest one
  bool decides = true;       ///< weights fit other values too: without it they are not read
  bool may_be_null = false;  ///< null is as if it were absent
};

/// Whether a part of the model is there, as config.json says.
struct FlagKey {
  bool Config::*field;
  std::string_view name;  ///< empty: all models have what `absent` says
  bool absent;            ///< where the file has no such key
};

/// A key that may have one value only: models with another one compute what we do not.
struct FixedKey {
  std::string_view name;
  std::string_view value;  ///< as JSON writes it, a string without its quotes
  std::string_view why = "such models are not supported";
};

/// A name in the files of a family, and BERT's for the same tensors. Both are the beginnings of
/// names, which end with a dot, or whole names.
struct Renaming {
  std::string_view file, canonical;
  /// Holds only where the file has tensors of this name too, beside these.
  std::string_view beside = {};
  /// Holds only for a model of a class whose name ends so.
  std::string_view of_class = {};
};

/// How a token knows its place.
enum class Positions {
  table,   ///< a vector for each place, added to the word's
  rotary,  ///< queries and keys are turned by their place (Su et al. 2021)
  chosen,  ///< config.json says whether there is a table (DeBERTa)
  typed,   ///< a table or turns, as position_embedding_type says (ESM)
  waves,   ///< a table of sines and cosines, which the file need not have (Vaswani et al. 2017)
  steep_waves,  ///< the same up to a period of exactly 10000, and zeros for padding (M2M100)
};

/// Where the numbers are that attention adds to scores by distance (Raffel et al. 2020).
enum class BiasPlace {
  model,        ///< beside the layers (MPNet)
  first_layer,  ///< in the first layer, for all layers (T5)
  layers,       ///< each layer has its own (UMT5)
};

/// Where a layer's norms stand.
enum class NormPlace {
  after,   ///< behind each residual (Vaswani et al. 2017)
  before,  ///< at the entry of attention and of the feed-forward net, and behind the last layer
  around,  ///< there, and at their exits before the residual
};

/// What a norm computes.
enum class NormKind {
  layer,           ///< (x - mean) / deviation * weight + bias (Ba et al. 2016)
  rms,             ///< x / sqrt(mean(x^2)) * weight (Zhang and Sennrich 2019)
  rms_around_one,  ///< the same with 1 + weight
  affine,          ///< x * weight + bias, but for that of the masked LM head (Sun et al. 2020)
};

/// What a classifier of texts reads.
enum class TextHead {
  pooled,      ///< the pooler's output
  two_layers,  ///< the first hidden state, through a dense layer of the head's own
  transform,   ///< the first hidden state or the mean, through a dense layer and a norm, which
               ///< heads of tokens have too
  score,       ///< the last hidden state that is no padding's
};

/// Which hidden states it reads.
enum class TextInput {
  first,        ///< the first one
  mean,         ///< the mean of all
  mean_logits,  ///< each of them: the logits' mean is the text's
  last,         ///< the last one that is no padding's
  last_end,     ///< a decoder reads the text, too: its state at the last end token (BART)
};
struct TextInputName {
  std::string_view name;
  TextInput input;
};

/// What sets one family of models apart from the others: their encoder is the same but for what
/// stands here. Only model/family/ knows families by name; all other code asks these fields.
struct Family {
  std::string_view model_type;     ///< in config.json
  std::string_view class_prefix;   ///< first part of transformers' classes: Bert in BertForMaskedLM
  std::string_view tensor_prefix;  ///< before the names of the encoder's tensors: "bert."
  /// Keys that tell an old config.json without model_type; none: it cannot be told.
  std::array<std::string_view, 2> telling_keys = {};

  // What config.json says, under which names.
  std::span<const SizeKey> sizes;
  std::span<const FlagKey> flags = {};
  std::span<const FixedKey> fixed = {};
  std::array<std::string_view, 2> activation_keys = {"hidden_act"};
  std::string_view activation = "gelu";  ///< where the file names none
  std::array<std::string_view, 2> layer_norm_eps_keys = {"layer_norm_eps"};  ///< may be empty
  double layer_norm_eps = 1e-12;  ///< where the file has none of the keys
  int32_t pad_token_id = 0;       ///< where the file has none
  std::string_view hidden_dropout_key = "hidden_dropout_prob";
  std::string_view attention_dropout_key = "attention_probs_dropout_prob";
  std::string_view classifier_dropout_key = "classifier_dropout";
  double hidden_dropout = 0.1, attention_dropout = 0.1;  ///< where the file has none
  std::optional<double> classifier_dropout = {};         ///< by default; none: the hidden one

  bool ties_words = true;  ///< where the file does not say whether the masked LM has the word table
  std::string_view refused_class = {};  ///< a class of transformers that computes otherwise

  // What the tensors are called.
  std::string_view older_prefix = {};  ///< before them in older files
  /// Before a layer's number; files may have any of them, the first is what is written.
  std::array<std::string_view, 3> layer_prefixes = {"encoder.layer."};
  /// Between two numbers, of a group of layers and of a layer in it; empty: layers have one.
  std::string_view in_group = {};
  std::span<const Renaming> layer_names = {};  ///< behind a layer's number
  std::span<const Renaming> names = {};        ///< all others
  /// Of other layouts: files may have them, nothing that we write has.
  std::span<const Renaming> other_layer_names = {}, other_names = {};
  /// A member of config.json that asks for other names than those that are written.
  std::string_view other_names_key = {};

  // How the models compute.
  Positions positions = Positions::table;
  /// The row of the position table that a text's first token has.
  size_t first_position = 0;
  bool first_behind_padding = false;  ///< that row is the one behind pad_token_id
  /// Rows of the table beside those of max_position_embeddings.
  size_t more_positions = 0;
  bool padding_has_place = false;  ///< padding in a text counts, although rows begin later (BART)
  BiasPlace distance_bias = BiasPlace::model;
  bool scales_scores = true;                        ///< by the square root of the head's width
  double rotary_theta = 0, local_rotary_theta = 0;  ///< where the file has none
  std::array<std::string_view, 2> rotary_theta_keys = {"rope_theta"};
  std::string_view local_rotary_theta_key = "local_rope_theta";
  bool scales_local_angles = true;     ///< rope_scaling holds for local layers, too
  std::string_view turns_tensor = {};  ///< with angles, which are taken where a file has it
  /// Where the file does not list layers: every n-th sees all tokens, from the first layer on or
  /// up to the n-th.
  std::string_view global_every_key = "global_attn_every_n_layers";
  size_t global_every = 3;
  bool global_is_last = false;
  bool turns_neighbours = false;  ///< values 2i and 2i + 1 are turned together, not i and D / 2 + i
  NormPlace norms = NormPlace::after;
  NormKind norm_kind = NormKind::layer;
  bool norm_of_heads = false;        ///< queries and keys have norms of each head
  bool norm_of_embeddings = false;   ///< norms before: that of the embeddings is the first layer's
  bool gated = false;                ///< the feed-forward net is gated (Shazeer 2020)
  bool embedding_norm = true;        ///< the embeddings have one
  bool scales_embeddings = false;    ///< word vectors are multiplied by sqrt(H)
  std::string_view scales_key = {};  ///< which says so, where the file has it
  bool cross_attention = false;      ///< its layers are a decoder's: they look at a source, too
  bool trigrams = false;  ///< a token's vector is made of three: the next one's, its own, the last
                          ///< one's; places and types are added behind that
  bool projects_always = false;  ///< from E to H, even if both are the same
  bool projects_first = false;   ///< from E to H before the embeddings' norm, without a bias
  bool key_bias = true;          ///< where queries and values have one, and positions' keys
  bool pooler = false;
  bool pooler_is_head = false;  ///< only models with a head for texts have it
  bool pooler_outside = false;  ///< its names do not begin with tensor_prefix
  /// Of a family of vectors alone: the class behind class_prefix whose result is a text's first
  /// hidden state, which is its vector unless files say otherwise.
  std::string_view vector_class = {};
  std::string_view pooler_act_key = {};  ///< empty: tanh; gelu where the file has none
  TextHead text_head = TextHead::two_layers;
  /// What a classifier of texts reads, by config.json's classifier_pooling; the first where that is
  /// absent. A name of "": there is no such key. Empty: the first hidden state.
  std::span<const TextInputName> text_inputs = {};
  /// Behind the head's own dense layer; none: hidden_act.
  std::optional<Activation> text_head_act = Activation::none;
  bool masked_lm = true;  ///< transformers has a masked LM head for it
  bool splits_decoder =
      false;  ///< the word table has E of the decoder's H columns, the file the rest
  bool mlm_transform = true;               ///< the masked LM head has a dense layer and a norm
  std::optional<Activation> mlm_act = {};  ///< activation of the masked LM head; none: hidden_act

  // What is trained, and how.
  std::string_view not_trained = {};    ///< why its models are not; empty: they are
  bool next_sentence = false;           ///< transformers has a head of next sentences for it
  bool discriminator = false;           ///< its ForPreTraining tells true tokens from replaced ones
  bool drops_attention_output = true;   ///< dropout behind the attention's dense layer
  bool drops_embeddings = true;         ///< dropout behind the embeddings
  bool drops_net_output = true;         ///< and behind the feed-forward net
  bool drops_before_text_head = false;  ///< dropout of a text classifier's first input, too
  /// Of the input of a head that finds answers; empty: nothing is dropped there.
  std::string_view answers_dropout_key = {};
  bool classifier_dropout_texts = false;  ///< only texts have classifier_dropout, tokens the hidden
  bool saves_decoder_bias = false;  ///< a decoder of its own is saved with its own copy of the bias

  /// What messages call the key of a size.
  std::string_view key_of(size_t Config::*field) const;
};

/// All families, BERT first.
BERT_API std::span<const Family> families();
/// nullptr: there is none of this model_type.
BERT_API const Family* find_family(std::string_view model_type);
/// "bert, distilbert, .. or mpnet", for messages.
std::string family_list();

/// A type of encoder-decoder models whose config.json says both halves: Marian and its cousins.
struct Seq2SeqFamily {
  const Family* encoder;  ///< whose model_type is that of the whole
  const Family* decoder;
  std::string_view shared_words;  ///< what files call the word vectors that both halves share
  /// The decoder may have a table and a vocabulary of its own, as config.json says (Marian).
  bool own_tables = false;
  /// What the output layer reads is divided by sqrt(H), unless tie_word_embeddings is false (T5).
  bool scales_output = false;
  /// The key that says whether the nets are gated, and its value where the file has none; a row is
  /// for models of gated nets or of others. Empty: there is no such key.
  std::string_view net_key = {}, net_absent = {};
  bool trainable = false;  ///< train-seq2seq takes them
};
BERT_API std::span<const Seq2SeqFamily> seq2seq_families();
/// The row of Marian, of which new models are.
const Seq2SeqFamily& marian_family();
/// The family of a decoder of this model_type (bert2bert); nullptr if there is none.
const Family* decoder_family(std::string_view model_type);
/// "bert, roberta, ..": the types that decoder_family knows.
std::string decoder_family_list();
/// nullptr: the name of one of transformers' classes tells none.
const Family* family_of_class(std::string_view class_name);

}  // namespace bert
