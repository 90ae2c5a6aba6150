#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nn/attention_scores.h"
#include "nn/recurrent.h"

namespace bert::nn {

/// One query attends to the m keys of its source, which are the values, too.
///
///   query    [C] of dot; of additive its hidden layer W_q q [A]
///   keys     [m, C]: the encoder's outputs, one for each token of the source
///   hidden   [m, A]: W_k k of additive
///   weights  [m]: receives softmax of the scores
///   context  [C]: receives the sum of weights[j] keys[j]
///   scores   [m]: receives the scores before softmax, or nullptr
///
/// The bits depend only on these arguments.
void attend_to_source(Score score, const float* v, const float* query, ConstMatrix keys,
                      ConstMatrix hidden, float* weights, float* context, Buffer& scratch,
                      float* scores = nullptr);

/// The parameters of a decoder, or their gradients.
struct RecurrentDecoderWeights {
  std::span<const CellWeights> cells;  ///< one for each layer
  ScoreWeights score;
};

/// A decoder of recurrent layers (Sutskever et al. 2014) that may attend to the encoder's outputs.
/// At each step the hidden state of the last layer before the step is the query; the attention
/// vector is concatenated with the embedding of the next word. Both are the input of the first
/// layer (Bahdanau et al. 2014).
///
/// Letters: S sequences, T target tokens, B rows of a step, E embedding size, C width of the
/// encoder's outputs, H hidden size. Rows of all steps stand in the order of time().
///
/// Thread rule: one per thread; it keeps what the way back needs.
class RecurrentDecoder {
 public:
  /// Without a score the decoder attends to nothing, and C is 0. shape.input_size is E + C. dot
  /// wants C = H.
  RecurrentDecoder(const RecurrentShape& shape, std::optional<Score> score)
      : shape_(shape), score_(score), layers_(shape.num_layers) {}

  /// Begins sequences of these lengths. `keys` [Tk, C] with `cu_keys` [S + 1] are the encoder's
  /// outputs; each source has at least one. `first` has the first state of each layer. Weights,
  /// keys and lists must live until backward().
  void begin(const RecurrentDecoderWeights& weights, std::span<const size_t> cu_targets,
             ConstMatrix keys, std::span<const size_t> cu_keys,
             std::span<const RecurrentState> first);
  const TimeMajor& time() const { return time_; }
  /// [B, E]: the caller fills it with embeddings before advance().
  Matrix input(size_t step);
  /// Computes a step; the steps come in order. Returns h' [B, H] of the last layer.
  ConstMatrix advance(size_t step);
  /// h' [T, H] of the last layer, behind all steps.
  ConstMatrix hidden() const { return layers_.back().hidden.slice(time_.sequences(), tokens()); }

  /// Adds to `gradient` and to d_keys [Tk, C]. d_input [T, E] and d_first receive their gradients.
  void backward(ConstMatrix d_hidden, const RecurrentDecoderWeights& gradient, Matrix d_input,
                Matrix d_keys, std::span<const RecurrentState> d_first);

 private:
  struct Layer {
    Buffer gates_buffer, recurrent_buffer, hidden_buffer, memory_buffer;
    Matrix gates, recurrent;  ///< [T, G H]
    Matrix hidden, memory;    ///< [S + T, H]: first states, then those after each step
    Buffer d_gates, d_recurrent, d_hidden, d_memory;
  };

  size_t tokens() const { return time_.tokens(); }
  bool has_memory() const { return shape_.cell == Cell::lstm; }
  size_t before(size_t step) const {
    return step == 0 ? 0 : time_.sequences() + time_.begin(step - 1);
  }
  /// h of the last layer before a step [B, H]: the queries.
  ConstMatrix queries(size_t step) const {
    return layers_.back().hidden.slice(before(step), time_.size(step));
  }
  ConstMatrix keys_of(size_t row, ConstMatrix keys) const;
  ConstMatrix inputs_of(size_t layer) const;
  void attend(size_t step);
  void cells_backward(size_t step, Matrix d_inputs);
  void attend_backward(size_t step, ConstMatrix d_context, const ScoreWeights& gradient,
                       Matrix d_keys);
  void add_gradients(const RecurrentDecoderWeights& gradient, Matrix d_keys);

  const RecurrentShape shape_;
  const std::optional<Score> score_;
  RecurrentDecoderWeights weights_;
  TimeMajor time_;
  ConstMatrix keys_;
  std::span<const size_t> cu_keys_;
  size_t width_of_keys_ = 0;                                          ///< C, or 0
  Matrix input_;                                                      ///< [T, E + C]
  Matrix weights_of_keys_;                                            ///< [T, longest source]
  Matrix query_hidden_, key_hidden_, d_query_hidden_, d_key_hidden_;  ///< [.., A] of additive
  std::vector<Layer> layers_;
  Buffer input_buffer_, weights_buffer_, query_buffer_, key_buffer_, d_query_buffer_, d_key_buffer_;
  Buffer scratch_, d_weights_, d_input_, previous_;
};

}  // namespace bert::nn
