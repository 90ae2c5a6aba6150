#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/config.h"

namespace bert {

/// What kind of encoder-decoder model a directory holds.
enum class Seq2SeqKind {
  transformer,      ///< one config.json for both halves: Marian (Vaswani et al. 2017) and cousins
  encoder_decoder,  ///< EncoderDecoderModel of transformers: bert2bert and its like
  recurrent,        ///< a pair of recurrent nets (model/recurrent_config.h)
};

/// The row of a config.json that says both halves; nullptr: there is none of its model_type.
const Seq2SeqFamily* seq2seq_family(const Json& root);
/// By model_type of the root of its config.json; nullopt: another model, or by its architecture one
/// of these types that writes no tokens.
std::optional<Seq2SeqKind> seq2seq_kind(const Json& root);

/// config.json of an encoder-decoder Transformer. Each half has a Config as any model has, by which
/// its tensors have canonical names and shapes (model/schema.h); that of the decoder has a family
/// with cross attention, and its output layer is the masked LM head's decoder.
struct BERT_API Seq2SeqConfig {
  Seq2SeqKind kind = Seq2SeqKind::transformer;
  const Seq2SeqFamily* family = nullptr;  ///< the row, if the kind is transformer
  std::string path;                       ///< the file, for messages
  Config encoder, decoder;
  bool shared_words = false;  ///< one table of word vectors for both halves
  float output_scale = 1;     ///< that the output layer's input is multiplied by (T5)

  /// Whether the encoder's states have another width than the decoder, and are projected.
  bool projects() const { return encoder.hidden_size != decoder.hidden_size; }
  /// Whether a dense layer and a norm stand before the output layer (BERT's head).
  bool transforms() const { return kind != Seq2SeqKind::transformer; }

  /// Reads and checks the root of config.json. Throws Error(unsupported) (a value out of range or
  /// another kind of model) naming key, value and rule.
  static Seq2SeqConfig read(const Json& root, const std::string& path);
};

/// A new model of Marian's architecture. Both halves have the same sizes and one table of words.
struct MarianShape {
  size_t vocab_size = 0;
  size_t layers = 2, hidden_size = 64, heads = 4, intermediate_size = 256;
  size_t max_positions = 512;
  double dropout = 0.1, init_std = 0.02;
  int32_t eos = 0, pad = 0;  ///< a target begins with pad
};
/// The text of its config.json.
BERT_API std::string marian_config(const MarianShape& shape);
/// The text of generation_config.json for a model that writes tokens greedily: at most `max_length`
/// tokens, never `pad`, with which a target begins.
BERT_API std::string greedy_generation_config(size_t max_length, int32_t eos, int32_t pad);

/// One tensor of a file as a half of the model knows it.
struct HalfName {
  bool decoder = false;
  std::string name;  ///< as the half's family spells names of files
};

/// What a tensor that the file calls `name` is, to the halves that read it: none, one or both.
std::vector<HalfName> half_names(const Seq2SeqConfig& config, std::string_view name);
/// What the file calls the tensor of a half; the inverse of half_names. Shared word vectors have
/// one name for both halves.
BERT_API std::string seq2seq_file_name(const Seq2SeqConfig& config, bool decoder,
                                       std::string_view canonical_name);
/// What stands before a half's canonical names in a directory that quantize writes.
BERT_API std::string half_prefix(const Seq2SeqConfig& config, bool decoder);
/// The projection of the encoder's states, "NAME.weight" [Hd, He] and "NAME.bias" [Hd].
inline constexpr std::string_view kStatesProjection = "enc_to_dec_proj";

}  // namespace bert
