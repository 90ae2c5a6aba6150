#include "nn/recurrent_decoder.h"

#include <algorithm>

#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {
namespace {}  // namespace

void attend_to_source(Score score, const float* v, const float* query, ConstMatrix keys,
                      ConstMatrix hidden, float* weights, float* context, Buffer& scratch,
                      float* scores) {
  if (has_hidden_layer(score)) {
    hidden_scores_forward(v, {query, 1, hidden.cols}, hidden, {weights, 1, keys.rows}, scratch);
  } else {
    for (size_t j = 0; j < keys.rows; ++j) weights[j] = dot(query, keys.row(j), keys.cols);
  }
  if (scores) std::copy_n(weights, keys.rows, scores);
  if (keys.rows > 0) softmax_rows({weights, 1, keys.rows});
  std::fill_n(context, keys.cols, 0.f);
  for (size_t j = 0; j < keys.rows; ++j) {
    gradient_kernels().axpy(weights[j], keys.row(j), keys.cols, context);
  }
}

void RecurrentDecoder::begin(const RecurrentDecoderWeights& weights,
                             std::span<const size_t> cu_targets, ConstMatrix keys,
                             std::span<const size_t> cu_keys,
                             std::span<const RecurrentState> first) {
  weights_ = weights;
  time_ = TimeMajor(cu_targets, false);
  keys_ = keys;
  cu_keys_ = cu_keys;
  width_of_keys_ = score_ ? keys.cols : 0;
  const size_t h = shape_.hidden_size, wide = gates_of(shape_.cell) * h;
  const size_t sequences = time_.sequences();
  input_ = input_buffer_.matrix(tokens(), shape_.input_size);
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    layer.gates = layer.gates_buffer.matrix(tokens(), wide);
    layer.recurrent = layer.recurrent_buffer.matrix(tokens(), wide);
    layer.hidden = layer.hidden_buffer.matrix(sequences + tokens(), h);
    if (has_memory()) layer.memory = layer.memory_buffer.matrix(sequences + tokens(), h);
    for (size_t i = 0; i < sequences; ++i) {
      const size_t s = time_.order()[i];
      std::copy_n(first[l].hidden.row(s), h, layer.hidden.row(i));
      if (has_memory()) std::copy_n(first[l].memory.row(s), h, layer.memory.row(i));
    }
  }
  if (!score_) return;
  size_t longest = 0;
  for (size_t s = 0; s < sequences; ++s) longest = std::max(longest, cu_keys[s + 1] - cu_keys[s]);
  weights_of_keys_ = weights_buffer_.matrix(tokens(), longest);
  if (!has_hidden_layer(*score_)) return;
  const size_t a = weights_.score.key.weight.rows;
  query_hidden_ = query_buffer_.matrix(tokens(), a);
  key_hidden_ = key_buffer_.matrix(keys.rows, a);
  linear_forward(weights_.score.key, keys, key_hidden_);
}

Matrix RecurrentDecoder::input(size_t step) {
  return columns(input_.slice(time_.begin(step), time_.size(step)), 0,
                 shape_.input_size - width_of_keys_);
}

/// The keys that row `row` of a step attends to.
ConstMatrix RecurrentDecoder::keys_of(size_t row, ConstMatrix keys) const {
  const size_t s = time_.order()[row];
  return keys.data ? keys.slice(cu_keys_[s], cu_keys_[s + 1] - cu_keys_[s]) : ConstMatrix();
}

ConstMatrix RecurrentDecoder::inputs_of(size_t layer) const {
  return layer == 0 ? ConstMatrix(input_)
                    : layers_[layer - 1].hidden.slice(time_.sequences(), tokens());
}

void RecurrentDecoder::attend(size_t step) {
  const size_t begin = time_.begin(step), rows = time_.size(step);
  const ConstMatrix q = queries(step);
  const bool is_hidden = has_hidden_layer(*score_);
  if (is_hidden) linear_forward(weights_.score.query, q, query_hidden_.slice(begin, rows));
  for (size_t i = 0; i < rows; ++i) {
    const float* query = is_hidden ? query_hidden_.row(begin + i) : q.row(i);
    float* context = input_.row(begin + i) + shape_.input_size - width_of_keys_;
    attend_to_source(*score_, weights_.score.v, query, keys_of(i, keys_),
                     is_hidden ? keys_of(i, key_hidden_) : ConstMatrix(),
                     weights_of_keys_.row(begin + i), context, scratch_);
  }
}

ConstMatrix RecurrentDecoder::advance(size_t step) {
  const size_t begin = time_.begin(step), rows = time_.size(step);
  const size_t from = before(step), to = before(step + 1);
  if (score_) attend(step);
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const auto memory = [&](size_t row) {
      return has_memory() ? layer.memory.slice(row, rows) : Matrix();
    };
    const Matrix gates = layer.gates.slice(begin, rows),
                 recurrent = layer.recurrent.slice(begin, rows);
    const ConstMatrix hidden = layer.hidden.slice(from, rows);
    linear_forward(weights_.cells[l].input, inputs_of(l).slice(begin, rows), gates);
    linear_forward(weights_.cells[l].hidden, hidden, recurrent);
    cell_forward(shape_.cell, gates, recurrent, hidden, memory(from), layer.hidden.slice(to, rows),
                 memory(to));
  }
  return layers_.back().hidden.slice(to, rows);
}

/// From the gradients of the states after a step to those before it, without the queries' share.
/// d_inputs [B, E + C] receives the gradient of the first layer's input.
void RecurrentDecoder::cells_backward(size_t step, Matrix d_inputs) {
  const size_t begin = time_.begin(step), rows = time_.size(step);
  const size_t from = before(step), to = before(step + 1), h = shape_.hidden_size;
  for (size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const size_t wide = layer.gates.cols;
    const auto memory = [&](size_t row) {
      return has_memory() ? layer.memory.slice(row, rows) : Matrix();
    };
    const Matrix d_gates = Matrix(layer.d_gates.data(), tokens(), wide).slice(begin, rows);
    const Matrix d_recurrent =
        shape_.cell == Cell::gru
            ? Matrix(layer.d_recurrent.data(), tokens(), wide).slice(begin, rows)
            : d_gates;
    const Matrix d_hidden(layer.d_hidden.data(), rows, h);
    const Matrix d_memory = has_memory() ? Matrix(layer.d_memory.data(), rows, h) : Matrix();
    const ConstMatrix hidden = layer.hidden.slice(from, rows);
    cell_backward(shape_.cell, layer.gates.slice(begin, rows), layer.recurrent.slice(begin, rows),
                  hidden, memory(from), layer.hidden.slice(to, rows), memory(to), d_hidden,
                  d_memory, d_gates, d_recurrent);
    const CellWeights& w = weights_.cells[l];
    linear_backward(w.hidden, hidden, d_recurrent, {}, d_hidden, true);
    // The layer below gets the gradient of its h' of this step, beside that of the step behind.
    const Matrix below = l == 0 ? d_inputs : Matrix(layers_[l - 1].d_hidden.data(), rows, h);
    linear_backward(w.input, below, d_gates, {}, below, l > 0);
  }
}

void RecurrentDecoder::attend_backward(size_t step, ConstMatrix d_context,
                                       const ScoreWeights& gradient, Matrix d_keys) {
  const auto axpy = gradient_kernels().axpy;
  const size_t begin = time_.begin(step), rows = time_.size(step), h = shape_.hidden_size;
  const bool is_hidden = has_hidden_layer(*score_);
  const ConstMatrix q = queries(step);
  const Matrix dq(layers_.back().d_hidden.data(), rows, h);
  for (size_t i = 0; i < rows; ++i) {
    const ConstMatrix keys = keys_of(i, keys_);
    const size_t key_0 = cu_keys_[time_.order()[i]], m = keys.rows, c = keys.cols;
    const float *weights = weights_of_keys_.row(begin + i), *d_c = d_context.row(i);
    float* d = d_weights_.reserve(m);  // of the weights, then of the scores
    for (size_t j = 0; j < m; ++j) {
      d[j] = dot(d_c, keys.row(j), c);
      axpy(weights[j], d_c, c, d_keys.row(key_0 + j));
    }
    softmax_rows_backward({weights, 1, m}, {d, 1, m});
    if (is_hidden) {
      hidden_scores_backward(
          weights_.score.v, query_hidden_.slice(begin + i, 1), keys_of(i, key_hidden_), {d, 1, m},
          gradient.v, d_query_hidden_.slice(begin + i, 1), d_key_hidden_.slice(key_0, m), scratch_);
      continue;
    }
    for (size_t j = 0; j < m; ++j) {
      axpy(d[j], keys.row(j), c, dq.row(i));
      axpy(d[j], q.row(i), c, d_keys.row(key_0 + j));
    }
  }
  if (is_hidden) {
    linear_backward(weights_.score.query, q, d_query_hidden_.slice(begin, rows), {}, dq, true);
  }
}

/// The sums over all steps, one product for each matrix.
void RecurrentDecoder::add_gradients(const RecurrentDecoderWeights& gradient, Matrix d_keys) {
  const size_t h = shape_.hidden_size;
  const Matrix previous = previous_.matrix(tokens(), h);  // h before each row's step
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    for (size_t step = 0; step < time_.steps(); ++step) {
      for (size_t i = 0; i < time_.size(step); ++i) {
        std::copy_n(layer.hidden.row(before(step) + i), h, previous.row(time_.begin(step) + i));
      }
    }
    const Matrix d_gates(layer.d_gates.data(), tokens(), layer.gates.cols);
    const Matrix d_recurrent = shape_.cell == Cell::gru
                                   ? Matrix(layer.d_recurrent.data(), tokens(), d_gates.cols)
                                   : d_gates;
    linear_backward(weights_.cells[l].hidden, previous, d_recurrent, gradient.cells[l].hidden, {});
    linear_backward(weights_.cells[l].input, inputs_of(l), d_gates, gradient.cells[l].input, {});
  }
  if (!score_ || !has_hidden_layer(*score_)) return;
  linear_backward(weights_.score.query, previous, d_query_hidden_, gradient.score.query, {});
  linear_backward(weights_.score.key, keys_, d_key_hidden_, gradient.score.key, d_keys, true);
}

void RecurrentDecoder::backward(ConstMatrix d_hidden, const RecurrentDecoderWeights& gradient,
                                Matrix d_input, Matrix d_keys,
                                std::span<const RecurrentState> d_first) {
  const size_t h = shape_.hidden_size, sequences = time_.sequences();
  for (Layer& layer : layers_) {
    layer.d_gates.reserve(tokens() * layer.gates.cols);
    if (shape_.cell == Cell::gru) layer.d_recurrent.reserve(tokens() * layer.gates.cols);
    layer.d_hidden.zeros(sequences, h);
    if (has_memory()) layer.d_memory.zeros(sequences, h);
  }
  if (score_ && has_hidden_layer(*score_)) {
    d_query_hidden_ = d_query_buffer_.zeros(tokens(), query_hidden_.cols);
    d_key_hidden_ = d_key_buffer_.zeros(key_hidden_.rows, key_hidden_.cols);
  }
  const Matrix top(layers_.back().d_hidden.data(), sequences, h);
  for (size_t step = time_.steps(); step-- > 0;) {
    const size_t begin = time_.begin(step), rows = time_.size(step);
    for (size_t i = 0; i < rows; ++i) {
      gradient_kernels().axpy(1.f, d_hidden.row(begin + i), h, top.row(i));
    }
    const Matrix d_inputs = d_input_.matrix(rows, shape_.input_size);  // [B, E + C]
    cells_backward(step, d_inputs);
    for (size_t i = 0; i < rows; ++i) {
      std::copy_n(d_inputs.row(i), d_input.cols, d_input.row(begin + i));
    }
    if (score_) {
      attend_backward(step, columns(d_inputs, d_input.cols, width_of_keys_), gradient.score,
                      d_keys);
    }
  }
  add_gradients(gradient, d_keys);
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (size_t i = 0; i < sequences; ++i) {
      const size_t s = time_.order()[i];
      std::copy_n(layers_[l].d_hidden.data() + i * h, h, d_first[l].hidden.row(s));
      if (has_memory()) {
        std::copy_n(layers_[l].d_memory.data() + i * h, h, d_first[l].memory.row(s));
      }
    }
  }
}

}  // namespace bert::nn
