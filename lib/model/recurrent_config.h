#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/schema.h"
#include "ops/cell.h"

namespace bert {

/// model_type of their config.json.
inline constexpr std::string_view kRecurrentType = "recurrent-seq2seq";

class Json;

/// How a recurrent decoder looks at the encoder's outputs (nn/recurrent_decoder.h).
enum class RecurrentAttention : uint8_t { none, dot, additive };

/// As config.json and options spell them: rnn, gru, lstm, and none, dot, additive; nullopt: another
/// word. rnn_relu has no word.
BERT_API std::optional<Cell> cell_of(std::string_view word);
BERT_API std::optional<RecurrentAttention> recurrent_attention_of(std::string_view word);
BERT_API std::string_view cell_word(Cell cell);
BERT_API std::string_view recurrent_attention_word(RecurrentAttention attention);

/// config.json of a pair of recurrent nets, an encoder and a decoder (bert-model(5), "Recurrent
/// nets"). Letters: V vocabulary, E embedding size, H hidden size, A attention size.
struct BERT_API RecurrentConfig {
  std::string path;  ///< the file, for messages
  Cell cell = Cell::gru;
  RecurrentAttention attention = RecurrentAttention::dot;
  size_t vocab_size = 0;  ///< tokens of the sources, and of the targets
  size_t embedding_size = 0;
  size_t hidden_size = 0;  ///< units of the decoder, and of the encoder's two directions together
  size_t num_layers = 1;   ///< layers of the encoder, and of the decoder
  bool bidirectional = true;           ///< the encoder, with H / 2 units in each direction
  size_t attention_size = 0;           ///< A of additive attention; other kinds have none
  int32_t decoder_start_token_id = 0;  ///< what the decoder reads first
  int32_t eos_token_id = 0;            ///< ends sources and targets

  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t encoder_hidden_size() const { return hidden_size / directions(); }
  /// C, the width of the attention vector: H, or 0 without attention.
  size_t context_size() const { return attention == RecurrentAttention::none ? 0 : hidden_size; }

  /// Whether config.json is one of a pair of recurrent nets, by its model_type.
  static bool is(const Json& root);
  /// Reads and checks the root of config.json. Throws Error as Config::read.
  static RecurrentConfig read(const Json& root, const std::string& path);
  /// The text of config.json.
  std::string text() const;
};

/// The tensors of one direction of one layer, named as in torch.nn.RNN, GRU and LSTM.
struct BERT_API CellNames {
  std::string weight_ih, weight_hh, bias_ih, bias_hh;

  /// `module` is the name of the torch.nn module: "encoder.rnn".
  static CellNames of(std::string_view module, size_t layer, bool reverse);
};
/// Their shapes: [G H, D], [G H, H], [G H], [G H].
void add_cell_tensors(const CellNames& names, Cell cell, size_t input_size, size_t hidden_size,
                      int32_t depth, std::vector<TensorSpec>& specs);

/// The names of the other tensors of a pair.
namespace recurrent_names {
inline constexpr std::string_view kEncoder = "encoder.rnn", kDecoder = "decoder.rnn";
inline constexpr std::string_view kSourceWords = "encoder.embedding.weight";  ///< [V, E]
inline constexpr std::string_view kTargetWords = "decoder.embedding.weight";  ///< [V, E]
inline constexpr std::string_view kQuery = "attention.query.weight";          ///< [A, H]
inline constexpr std::string_view kKey = "attention.key.weight";              ///< [A, C]
inline constexpr std::string_view kScore = "attention.score.weight";          ///< [1, A]
inline constexpr std::string_view kOutput = "output.weight";                  ///< [V, H]
inline constexpr std::string_view kOutputBias = "output.bias";                ///< [V]
}  // namespace recurrent_names

/// All tensors of a pair. The decoder's first layer reads [E + C].
BERT_API std::vector<TensorSpec> recurrent_tensors(const RecurrentConfig& config);

}  // namespace bert
