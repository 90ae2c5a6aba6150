#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "nn/dropout.h"
#include "nn/linear_gradient.h"
#include "ops/cell.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert::nn {

/// Recurrent cells with the equations, the order of the gates and the two biases of PyTorch's
/// torch.nn.RNN, GRU and LSTM. With a = W_ih x + b_ih, b = W_hh h + b_hh, and s the sigmoid:
///
///   rnn   h' = tanh(a + b)                (Elman 1990); rnn_relu has relu instead
///   gru   r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), h' = (1 - z) n + z h
///                                         (Cho et al. 2014)
///   lstm  i = s(..), f = s(..), g = tanh(..), o = s(..), c' = f c + i g, h' = o tanh(c')
///                                         (Hochreiter and Schmidhuber 1997, Gers et al. 2000)
///
/// Letters: S sequences, T tokens, B rows of one step, D inputs, H hidden size, G gates.

/// One step of B rows. The bits of a row do not depend on the other rows.
///
///   gates [B, G H]      W_ih x + b_ih; becomes the activated gates, which the way back needs
///   recurrent [B, G H]  W_hh h + b_hh; for gru, the way back needs it, too
///   hidden, memory [B, H]            h and c before the step; only lstm has c
///   next_hidden, next_memory [B, H]  after it; not the same memory as before
void cell_forward(Cell cell, Matrix gates, ConstMatrix recurrent, ConstMatrix hidden,
                  ConstMatrix memory, Matrix next_hidden, Matrix next_memory);

/// The step's way back.
///
///   d_hidden, d_memory [B, H]  gradients of h' and c'. They become those of h and c, but for the
///                              share of h that goes through W_hh: d_recurrent W_hh
///   d_gates [B, G H]           receives the gradient of W_ih x + b_ih
///   d_recurrent [B, G H]       receives that of W_hh h + b_hh. It differs in gru only; for other
///                              cells it may be d_gates
void cell_backward(Cell cell, ConstMatrix gates, ConstMatrix recurrent, ConstMatrix hidden,
                   ConstMatrix memory, ConstMatrix next_hidden, ConstMatrix next_memory,
                   Matrix d_hidden, Matrix d_memory, Matrix d_gates, Matrix d_recurrent);

/// The parameters of one direction of one layer, or their gradients.
struct CellWeights {
  LinearWeights input;   ///< weight_ih [G H, D], bias_ih [G H]
  LinearWeights hidden;  ///< weight_hh [G H, H], bias_hh [G H]
};

/// The two products of a cell. Training takes those of linear_forward; inference those of Linear
/// (ops/linear.h), whose rows do not depend on the batch.
struct CellProducts {
  using Product = std::function<void(ConstMatrix x, Matrix y)>;
  Product input;   ///< y [B, G H] = x W_ih^T + b_ih
  Product hidden;  ///< y [B, G H] = h W_hh^T + b_hh

  /// `weights` must live as long.
  static CellProducts of(const CellWeights& weights);
};

/// A cell's weights as inference computes with them: rows do not depend on the batch.
///
/// Thread rule: const; each thread has its own scratch.
struct CellLinears {
  Linear input;   ///< [G H, D]
  Linear hidden;  ///< [G H, H]

  /// Both must live as long as the result.
  CellProducts products(LinearScratch& scratch) const;
};

/// The walk over sequences of different lengths, step by step, as in PyTorch's PackedSequence: the
/// longest sequences come first, so the rows of a step are the first rows of the step before it.
class TimeMajor {
 public:
  TimeMajor() = default;
  /// Sequence s has the tokens [cu_seq_lens[s], cu_seq_lens[s + 1]); it may have none. With
  /// `reversed`, a sequence's last token comes first.
  TimeMajor(std::span<const size_t> cu_seq_lens, bool reversed);

  size_t steps() const { return sizes_.size(); }
  size_t sequences() const { return order_.size(); }
  size_t tokens() const { return tokens_.size(); }
  size_t size(size_t step) const { return sizes_[step]; }    ///< B of a step
  size_t begin(size_t step) const { return begins_[step]; }  ///< its first row in time-major order
  /// [S]: the sequence that row i of a step is of.
  std::span<const size_t> order() const { return order_; }
  /// [T]: the token of each row in time-major order.
  std::span<const size_t> token_of() const { return tokens_; }

  /// rows[r] = from[token_of()[r]], and the way back: to[token_of()[r]] (+)= rows[r].
  void gather(ConstMatrix from, Matrix rows) const;
  void scatter(ConstMatrix rows, Matrix to) const;
  void scatter_add(ConstMatrix rows, Matrix to) const;

 private:
  std::vector<size_t> order_, sizes_, begins_, tokens_;
};

/// h [S, H], and c [S, H] of lstm; without data: zeros when read, left out when written.
struct RecurrentState {
  Matrix hidden, memory;
};

/// One direction of one layer over whole sequences, and backward through time.
///
/// Thread rule: one per thread; it keeps what the way back needs.
class RecurrentWalk {
 public:
  /// y [T, H] of all tokens, in the order of x [T, D]. `last` receives each sequence's state behind
  /// its last step; an empty sequence keeps the first state.
  void forward(Cell cell, const CellProducts& products, std::span<const size_t> cu_seq_lens,
               bool reversed, ConstMatrix x, const RecurrentState& first, Matrix y,
               const RecurrentState& last);

  /// The way back of the last forward(). Adds to `gradient`; to d_x [T, D] if it has data.
  ///   d_y [T, H]   d_last: gradients of `last`   d_first: receives those of `first`
  void backward(const CellWeights& weights, ConstMatrix d_y, const RecurrentState& d_last,
                const CellWeights& gradient, Matrix d_x, const RecurrentState& d_first);

 private:
  void begin_states(const RecurrentState& first);
  void save_states(const RecurrentState& last) const;
  /// Where row 0 of the states before a step lies among all states.
  size_t before(size_t step) const {
    return step == 0 ? 0 : time_.sequences() + time_.begin(step - 1);
  }

  Cell cell_ = Cell::rnn;
  size_t width_ = 0;  ///< H
  TimeMajor time_;
  Matrix x_, gates_, recurrent_;  ///< [T, ...] in time-major order
  Matrix hidden_, memory_;        ///< [S + T, H]: first states, then those after each step
  Buffer x_buffer_, gates_buffer_, recurrent_buffer_, hidden_buffer_, memory_buffer_;
  Buffer d_gates_, d_recurrent_, d_hidden_, d_memory_, previous_, d_rows_;
};

/// The shape of a stack of layers; names and meaning as in torch.nn.RNN, GRU and LSTM.
struct RecurrentShape {
  Cell cell = Cell::rnn;
  size_t input_size = 0, hidden_size = 0;
  size_t num_layers = 1;
  bool bidirectional = false;

  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t output_size() const { return directions() * hidden_size; }
  size_t inputs_of(size_t layer) const { return layer == 0 ? input_size : output_size(); }
  /// The number of CellWeights: of layer l and direction d, index l directions() + d.
  size_t cells() const { return num_layers * directions(); }
};

/// Several layers, one behind the other, each in one or both directions.
///
/// Thread rule: as RecurrentWalk.
class RecurrentStack {
 public:
  explicit RecurrentStack(const RecurrentShape& shape) : shape_(shape), walks_(shape.cells()) {}
  const RecurrentShape& shape() const { return shape_; }

  /// y [T, directions H]: the last layer, forward direction first. `first` and `last` are empty or
  /// have an entry for each of shape().cells(). `dropout` is for the outputs of all layers but the
  /// last: layer l has the key mix(dropout.key, l).
  void forward(std::span<const CellProducts> products, std::span<const size_t> cu_seq_lens,
               ConstMatrix x, std::span<const RecurrentState> first, Matrix y,
               std::span<const RecurrentState> last, const Dropout& dropout = {});
  /// As RecurrentWalk::backward.
  void backward(std::span<const CellWeights> weights, ConstMatrix d_y,
                std::span<const RecurrentState> d_last, std::span<const CellWeights> gradient,
                Matrix d_x, std::span<const RecurrentState> d_first);

 private:
  RecurrentShape shape_;
  size_t tokens_ = 0;
  Dropout dropout_;
  std::vector<RecurrentWalk> walks_;
  std::vector<Buffer> outputs_;  ///< [T, directions H] of the layers below the last
  Buffer d_outputs_[2];
};

}  // namespace bert::nn
