#pragma once

#include <cstddef>
#include <cstdint>

namespace bert {

/// The kinds of recurrent cells; their equations stand in nn/recurrent.h. rnn_relu is rnn with relu
/// instead of tanh.
enum class Cell : uint8_t { rnn, rnn_relu, gru, lstm };

/// G, how many vectors [H] a cell computes from its input: 1, 1, 3 (r, z, n) and 4 (i, f, g, o).
constexpr size_t gates_of(Cell cell) {
  switch (cell) {
    case Cell::gru:
      return 3;
    case Cell::lstm:
      return 4;
    default:
      return 1;
  }
}

}  // namespace bert
