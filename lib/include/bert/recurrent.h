#pragma once

#include <bert/bert.h>
#include <bert/error.h>
#include <bert/matrix.h>

#include <cstddef>
#include <vector>

namespace bert {
inline namespace v0 {

/// The weights of a recurrent layer, with torch.nn's names.
struct RecurrentWeights {
  Matrix weight_ih;                ///< [G H, D]
  Matrix weight_hh;                ///< [G H, H]
  const float* bias_ih = nullptr;  ///< [G H]; nullptr: 0
  const float* bias_hh = nullptr;
};

/// h [H] and, of LSTM, c [H]; empty: 0.
struct RecurrentState {
  std::vector<float> hidden, memory;
};

/// One recurrent layer over a sequence [n, D], see bert.h: h behind each step, [n, H]. `state` is
/// the one before, and becomes the one behind. Throws Error(BERT_USAGE) if the shapes do not fit.
inline std::vector<float> recurrent(bert_cell cell, const Matrix& inputs,
                                    const RecurrentWeights& weights, RecurrentState& state) {
  const std::size_t width = weights.weight_hh.cols();
  state.hidden.resize(width);
  state.memory.resize(width);
  std::vector<float> out(inputs.rows() * width);
  check(bert_recurrent(cell, inputs.c(), weights.weight_ih.c(), weights.weight_hh.c(),
                       weights.bias_ih, weights.bias_hh, state.hidden.data(), state.memory.data(),
                       out.data()));
  return out;
}

}  // namespace v0
}  // namespace bert
