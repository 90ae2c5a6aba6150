#include "nn/recurrent.h"

#include <algorithm>
#include <numeric>

#include "ops/blas.h"
#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::nn {
namespace {

void add_row(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] += x[i];
}

void rnn_forward(Cell cell, size_t h, float* gates, const float* recurrent, float* next) {
  add_row(recurrent, h, gates);
  activate(cell == Cell::rnn ? Activation::tanh : Activation::relu, {gates, h});
  std::copy_n(gates, h, next);
}

void gru_forward(size_t h, float* gates, const float* recurrent, const float* hidden, float* next) {
  add_row(recurrent, 2 * h, gates);
  activate(Activation::sigmoid, {gates, 2 * h});
  float* n = gates + 2 * h;
  for (size_t i = 0; i < h; ++i) n[i] += gates[i] * recurrent[2 * h + i];
  activate(Activation::tanh, {n, h});
  const float* z = gates + h;
  for (size_t i = 0; i < h; ++i) next[i] = (1.f - z[i]) * n[i] + z[i] * hidden[i];
}

void lstm_forward(size_t h, float* gates, const float* recurrent, const float* memory, float* next,
                  float* next_memory) {
  add_row(recurrent, 4 * h, gates);
  activate(Activation::sigmoid, {gates, 2 * h});
  activate(Activation::tanh, {gates + 2 * h, h});
  activate(Activation::sigmoid, {gates + 3 * h, h});
  const float *in = gates, *forget = gates + h, *g = gates + 2 * h, *out = gates + 3 * h;
  for (size_t i = 0; i < h; ++i) {
    next_memory[i] = forget[i] * memory[i] + in[i] * g[i];
    next[i] = next_memory[i];
  }
  activate(Activation::tanh, {next, h});
  for (size_t i = 0; i < h; ++i) next[i] *= out[i];
}

void rnn_backward(Cell cell, size_t h, const float* next, float* d_hidden, float* d_gates) {
  for (size_t i = 0; i < h; ++i) {
    const float slope =
        cell == Cell::rnn ? 1.f - next[i] * next[i] : static_cast<float>(next[i] > 0);
    d_gates[i] = d_hidden[i] * slope;
    d_hidden[i] = 0;
  }
}

void gru_backward(size_t h, const float* gates, const float* recurrent, const float* hidden,
                  float* d_hidden, float* d_gates, float* d_recurrent) {
  const float *r = gates, *z = gates + h, *n = gates + 2 * h;
  for (size_t i = 0; i < h; ++i) {
    const float d_n = d_hidden[i] * (1.f - z[i]) * (1.f - n[i] * n[i]);
    const float d_z = d_hidden[i] * (hidden[i] - n[i]) * z[i] * (1.f - z[i]);
    const float d_r = d_n * recurrent[2 * h + i] * r[i] * (1.f - r[i]);
    d_gates[i] = d_recurrent[i] = d_r;
    d_gates[h + i] = d_recurrent[h + i] = d_z;
    d_gates[2 * h + i] = d_n;
    d_recurrent[2 * h + i] = d_n * r[i];
    d_hidden[i] *= z[i];
  }
}

void lstm_backward(size_t h, const float* gates, const float* memory, const float* next_memory,
                   float* d_hidden, float* d_memory, float* d_gates) {
  const float *in = gates, *forget = gates + h, *g = gates + 2 * h, *out = gates + 3 * h;
  float* squashed = d_gates;  // tanh(c'), in the place of d_in
  std::copy_n(next_memory, h, squashed);
  activate(Activation::tanh, {squashed, h});
  for (size_t i = 0; i < h; ++i) {
    const float s = squashed[i];
    const float d_c = d_memory[i] + d_hidden[i] * out[i] * (1.f - s * s);
    d_gates[3 * h + i] = d_hidden[i] * s * out[i] * (1.f - out[i]);
    d_gates[2 * h + i] = d_c * in[i] * (1.f - g[i] * g[i]);
    d_gates[h + i] = d_c * memory[i] * forget[i] * (1.f - forget[i]);
    d_gates[i] = d_c * g[i] * in[i] * (1.f - in[i]);
    d_memory[i] = d_c * forget[i];
    d_hidden[i] = 0;
  }
}

void fill(Matrix m, float value) {
  for (size_t r = 0; r < m.rows; ++r) std::fill_n(m.row(r), m.cols, value);
}

/// Columns [begin, begin + count).
}  // namespace

void cell_forward(Cell cell, Matrix gates, ConstMatrix recurrent, ConstMatrix hidden,
                  ConstMatrix memory, Matrix next_hidden, Matrix next_memory) {
  const size_t h = hidden.cols;
  for (size_t b = 0; b < gates.rows; ++b) {
    float* next = next_hidden.row(b);
    if (cell == Cell::lstm) {
      lstm_forward(h, gates.row(b), recurrent.row(b), memory.row(b), next, next_memory.row(b));
    } else if (cell == Cell::gru) {
      gru_forward(h, gates.row(b), recurrent.row(b), hidden.row(b), next);
    } else {
      rnn_forward(cell, h, gates.row(b), recurrent.row(b), next);
    }
  }
}

void cell_backward(Cell cell, ConstMatrix gates, ConstMatrix recurrent, ConstMatrix hidden,
                   ConstMatrix memory, ConstMatrix next_hidden, ConstMatrix next_memory,
                   Matrix d_hidden, Matrix d_memory, Matrix d_gates, Matrix d_recurrent) {
  const size_t h = hidden.cols;
  for (size_t b = 0; b < gates.rows; ++b) {
    if (cell == Cell::gru) {
      gru_backward(h, gates.row(b), recurrent.row(b), hidden.row(b), d_hidden.row(b),
                   d_gates.row(b), d_recurrent.row(b));
      continue;
    }
    if (cell == Cell::lstm) {
      lstm_backward(h, gates.row(b), memory.row(b), next_memory.row(b), d_hidden.row(b),
                    d_memory.row(b), d_gates.row(b));
    } else {
      rnn_backward(cell, h, next_hidden.row(b), d_hidden.row(b), d_gates.row(b));
    }
    if (d_recurrent.data != d_gates.data) {
      std::copy_n(d_gates.row(b), d_gates.cols, d_recurrent.row(b));
    }
  }
}

CellProducts CellProducts::of(const CellWeights& weights) {
  return {[w = &weights.input](ConstMatrix x, Matrix y) { linear_forward(*w, x, y); },
          [w = &weights.hidden](ConstMatrix x, Matrix y) { linear_forward(*w, x, y); }};
}

CellProducts CellLinears::products(LinearScratch& scratch) const {
  const auto product = [&scratch](const Linear& linear) {
    return
        [&linear, &scratch](ConstMatrix x, Matrix y) { linear(x, y, Activation::none, scratch); };
  };
  return {product(input), product(hidden)};
}

TimeMajor::TimeMajor(std::span<const size_t> cu_seq_lens, bool reversed) {
  const size_t sequences = cu_seq_lens.empty() ? 0 : cu_seq_lens.size() - 1;
  const auto length = [&](size_t s) { return cu_seq_lens[s + 1] - cu_seq_lens[s]; };
  order_.resize(sequences);
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return length(a) > length(b); });
  const size_t longest = sequences == 0 ? 0 : length(order_[0]);
  size_t active = sequences;
  for (size_t step = 0; step < longest; ++step) {
    while (length(order_[active - 1]) <= step) --active;
    begins_.push_back(tokens_.size());
    sizes_.push_back(active);
    for (size_t i = 0; i < active; ++i) {
      const size_t s = order_[i];
      tokens_.push_back(reversed ? cu_seq_lens[s + 1] - 1 - step : cu_seq_lens[s] + step);
    }
  }
}

void TimeMajor::gather(ConstMatrix from, Matrix rows) const {
  for (size_t r = 0; r < tokens_.size(); ++r) {
    std::copy_n(from.row(tokens_[r]), rows.cols, rows.row(r));
  }
}

void TimeMajor::scatter(ConstMatrix rows, Matrix to) const {
  for (size_t r = 0; r < tokens_.size(); ++r) {
    std::copy_n(rows.row(r), rows.cols, to.row(tokens_[r]));
  }
}

void TimeMajor::scatter_add(ConstMatrix rows, Matrix to) const {
  for (size_t r = 0; r < tokens_.size(); ++r) add_row(rows.row(r), rows.cols, to.row(tokens_[r]));
}

void RecurrentWalk::begin_states(const RecurrentState& first) {
  const size_t sequences = time_.sequences();
  const auto begin = [&](Matrix from, Matrix states) {
    for (size_t i = 0; i < sequences; ++i) {
      if (from.data) {
        std::copy_n(from.row(time_.order()[i]), width_, states.row(i));
      } else {
        std::fill_n(states.row(i), width_, 0.f);
      }
    }
  };
  begin(first.hidden, hidden_);
  if (cell_ == Cell::lstm) begin(first.memory, memory_);
}

void RecurrentWalk::save_states(const RecurrentState& last) const {
  // Row i is in the steps below its length, and its last step is behind all longer ones' rows.
  for (size_t i = 0; i < time_.sequences(); ++i) {
    size_t steps = 0;
    while (steps < time_.steps() && time_.size(steps) > i) ++steps;
    const size_t row = before(steps) + i, s = time_.order()[i];
    if (last.hidden.data) std::copy_n(hidden_.row(row), width_, last.hidden.row(s));
    if (last.memory.data) std::copy_n(memory_.row(row), width_, last.memory.row(s));
  }
}

void RecurrentWalk::forward(Cell cell, const CellProducts& products,
                            std::span<const size_t> cu_seq_lens, bool reversed, ConstMatrix x,
                            const RecurrentState& first, Matrix y, const RecurrentState& last) {
  cell_ = cell;
  width_ = y.cols;
  time_ = TimeMajor(cu_seq_lens, reversed);
  const size_t tokens = time_.tokens(), all = time_.sequences() + tokens;
  const size_t wide = gates_of(cell) * width_;
  x_ = x_buffer_.matrix(tokens, x.cols);
  gates_ = gates_buffer_.matrix(tokens, wide);
  recurrent_ = recurrent_buffer_.matrix(tokens, wide);
  hidden_ = hidden_buffer_.matrix(all, width_);
  if (cell == Cell::lstm) memory_ = memory_buffer_.matrix(all, width_);
  begin_states(first);
  time_.gather(x, x_);
  products.input(x_, gates_);
  for (size_t step = 0; step < time_.steps(); ++step) {
    const size_t begin = time_.begin(step), rows = time_.size(step), from = before(step),
                 to = before(step + 1);
    const ConstMatrix hidden = hidden_.slice(from, rows);
    products.hidden(hidden, recurrent_.slice(begin, rows));
    const bool has_memory = cell == Cell::lstm;
    cell_forward(cell, gates_.slice(begin, rows), recurrent_.slice(begin, rows), hidden,
                 has_memory ? memory_.slice(from, rows) : Matrix(), hidden_.slice(to, rows),
                 has_memory ? memory_.slice(to, rows) : Matrix());
  }
  time_.scatter(hidden_.slice(time_.sequences(), tokens), y);
  save_states(last);
}

void RecurrentWalk::backward(const CellWeights& weights, ConstMatrix d_y,
                             const RecurrentState& d_last, const CellWeights& gradient, Matrix d_x,
                             const RecurrentState& d_first) {
  const size_t sequences = time_.sequences(), tokens = time_.tokens();
  const bool has_memory = cell_ == Cell::lstm;
  const Matrix d_gates = d_gates_.matrix(tokens, gates_.cols);
  const Matrix d_recurrent =
      cell_ == Cell::gru ? d_recurrent_.matrix(tokens, gates_.cols) : d_gates;
  const Matrix d_hidden = d_hidden_.matrix(sequences, width_);
  const Matrix d_memory = has_memory ? d_memory_.matrix(sequences, width_) : Matrix();
  const Matrix previous = previous_.matrix(tokens, width_);  // h before each row's step
  const auto begin_gradient = [&](Matrix from, Matrix to) {
    for (size_t i = 0; i < to.rows; ++i) {
      if (from.data) std::copy_n(from.row(time_.order()[i]), width_, to.row(i));
    }
    if (!from.data) fill(to, 0);
  };
  begin_gradient(d_last.hidden, d_hidden);
  if (has_memory) begin_gradient(d_last.memory, d_memory);

  for (size_t step = time_.steps(); step-- > 0;) {
    const size_t begin = time_.begin(step), rows = time_.size(step), from = before(step),
                 to = before(step + 1);
    const auto of = [&](Matrix m, size_t row) {
      return has_memory ? m.slice(row, rows) : Matrix();
    };
    const ConstMatrix hidden = hidden_.slice(from, rows);
    for (size_t i = 0; i < rows; ++i) {
      add_row(d_y.row(time_.token_of()[begin + i]), width_, d_hidden.row(i));
      std::copy_n(hidden.row(i), width_, previous.row(begin + i));
    }
    cell_backward(cell_, gates_.slice(begin, rows), recurrent_.slice(begin, rows), hidden,
                  of(memory_, from), hidden_.slice(to, rows), of(memory_, to),
                  d_hidden.slice(0, rows), of(d_memory, 0), d_gates.slice(begin, rows),
                  d_recurrent.slice(begin, rows));
    linear_backward(weights.hidden, hidden, d_recurrent.slice(begin, rows), {},
                    d_hidden.slice(0, rows), true);
  }

  if (gradient.hidden.weight.data) {
    linear_backward(weights.hidden, previous, d_recurrent, gradient.hidden, {});
  }
  const Matrix d_rows = d_x.data ? d_rows_.matrix(tokens, x_.cols) : Matrix();
  linear_backward(weights.input, x_, d_gates, gradient.input, d_rows);
  if (d_x.data) time_.scatter_add(d_rows, d_x);
  for (size_t i = 0; i < sequences; ++i) {
    const size_t s = time_.order()[i];
    if (d_first.hidden.data) std::copy_n(d_hidden.row(i), width_, d_first.hidden.row(s));
    if (d_first.memory.data) std::copy_n(d_memory.row(i), width_, d_first.memory.row(s));
  }
}

void RecurrentStack::forward(std::span<const CellProducts> products,
                             std::span<const size_t> cu_seq_lens, ConstMatrix x,
                             std::span<const RecurrentState> first, Matrix y,
                             std::span<const RecurrentState> last, const Dropout& dropout) {
  tokens_ = x.rows;
  dropout_ = dropout;
  outputs_.resize(shape_.num_layers);
  for (size_t layer = 0; layer < shape_.num_layers; ++layer) {
    const bool is_last = layer + 1 == shape_.num_layers;
    const Matrix out = is_last ? y : outputs_[layer].matrix(tokens_, shape_.output_size());
    for (size_t d = 0; d < shape_.directions(); ++d) {
      const size_t i = layer * shape_.directions() + d;
      walks_[i].forward(shape_.cell, products[i], cu_seq_lens, d == 1, x,
                        first.empty() ? RecurrentState() : first[i],
                        columns(out, d * shape_.hidden_size, shape_.hidden_size),
                        last.empty() ? RecurrentState() : last[i]);
    }
    if (!is_last) nn::dropout({dropout.rate, mix(dropout.key, layer), dropout.row_0}, out);
    x = out;
  }
}

void RecurrentStack::backward(std::span<const CellWeights> weights, ConstMatrix d_y,
                              std::span<const RecurrentState> d_last,
                              std::span<const CellWeights> gradient, Matrix d_x,
                              std::span<const RecurrentState> d_first) {
  for (size_t layer = shape_.num_layers; layer-- > 0;) {
    const Matrix below =
        layer == 0 ? d_x : d_outputs_[layer % 2].matrix(tokens_, shape_.output_size());
    if (layer > 0) fill(below, 0);
    for (size_t d = 0; d < shape_.directions(); ++d) {
      const size_t i = layer * shape_.directions() + d;
      walks_[i].backward(weights[i], columns(d_y, d * shape_.hidden_size, shape_.hidden_size),
                         d_last.empty() ? RecurrentState() : d_last[i], gradient[i], below,
                         d_first.empty() ? RecurrentState() : d_first[i]);
    }
    if (layer > 0) {
      nn::dropout({dropout_.rate, mix(dropout_.key, layer - 1), dropout_.row_0}, below);
      d_y = below;
    }
  }
}

}  // namespace bert::nn
