#include <fmt/format.h>

#include <cmath>

#include "api/handles.h"
#include "nn/recurrent.h"
#include "ops/linear.h"
#include "ops/scaled_dot_product.h"

using namespace bert;
using namespace bert::api;

namespace {

ConstMatrix inner(const bert_matrix& matrix, const char* name) {
  size_t floats = 0;
  if (__builtin_mul_overflow(matrix.rows, matrix.cols, &floats) || floats > SIZE_MAX / 8) {
    throw Error(Error::Kind::no_memory, name,
                fmt::format("found [{}, {}], more than memory can hold", matrix.rows, matrix.cols));
  }
  if (floats == 0) refuse(name, fmt::format("found [{}, {}]", matrix.rows, matrix.cols));
  return {&need(matrix.data, name), matrix.rows, matrix.cols};
}

void check_shapes(ConstMatrix q, ConstMatrix k, ConstMatrix v, size_t heads) {
  if (q.cols != k.cols || k.rows != v.rows || q.cols % heads != 0 || v.cols % heads != 0) {
    refuse("matrices",
           fmt::format("found queries [{}, {}], keys [{}, {}], values [{}, {}] and {} heads, wants "
                       "[n, D], [m, D], [m, Dv] and heads that divide D and Dv",
                       q.rows, q.cols, k.rows, k.cols, v.rows, v.cols, heads));
  }
}

Cell cell_of(bert_cell cell) {
  switch (cell) {
    case BERT_RNN:
      return Cell::rnn;
    case BERT_GRU:
      return Cell::gru;
    case BERT_LSTM:
      return Cell::lstm;
  }
  refuse("cell", fmt::format("found {}", static_cast<int>(cell)));
}

Linear linear_of(ConstMatrix weight, const float* bias) {
  const WeightRef ref{reinterpret_cast<const std::byte*>(weight.data), DType::f32, weight.rows,
                      weight.cols};
  return {ref, bias ? std::vector<float>(bias, bias + weight.rows) : std::vector<float>()};
}

}  // namespace

int bert_recurrent(bert_cell kind, bert_matrix inputs, bert_matrix weight_ih, bert_matrix weight_hh,
                   const float* bias_ih, const float* bias_hh, float* hidden, float* memory,
                   float* out) {
  return guard([&] {
    const Cell cell = cell_of(kind);
    const ConstMatrix x = inner(inputs, "inputs"), ih = inner(weight_ih, "weight_ih"),
                      hh = inner(weight_hh, "weight_hh");
    const size_t h = hh.cols;
    if (hh.rows % gates_of(cell) != 0 || hh.rows / gates_of(cell) != h || ih.rows != hh.rows ||
        ih.cols != x.cols) {
      refuse("weights", fmt::format("found weight_ih [{}, {}], weight_hh [{}, {}] and inputs [{}, "
                                    "{}], wants [{} H, D], [{} H, H] and [n, D]",
                                    ih.rows, ih.cols, hh.rows, hh.cols, x.rows, x.cols,
                                    gates_of(cell), gates_of(cell)));
    }
    need(out, "out");
    inner({x.data, x.rows, hh.rows}, "gates");  // refuses what overflows
    const nn::CellLinears linears{linear_of(ih, bias_ih), linear_of(hh, bias_hh)};
    LinearScratch scratch;
    const size_t cu[] = {0, x.rows};
    const nn::RecurrentState state{hidden ? Matrix(hidden, 1, h) : Matrix(),
                                   memory && cell == Cell::lstm ? Matrix(memory, 1, h) : Matrix()};
    nn::RecurrentWalk().forward(cell, linears.products(scratch), cu, false, x, state,
                                {out, x.rows, h}, state);
  });
}

int bert_attention(bert_matrix queries, bert_matrix keys, bert_matrix values,
                   const bert_attention_options* options, float* out, float* weights) {
  return guard([&] {
    const bert_attention_options given = read_options(options);
    const ConstMatrix q = inner(queries, "queries"), k = inner(keys, "keys");
    const ConstMatrix v = inner(values, "values");
    const size_t heads = given.heads == 0 ? 1 : given.heads;
    check_shapes(q, k, v, heads);
    need(out, "out");
    inner({q.data, heads * q.rows, k.rows}, "weights");  // refuses what overflows
    inner({q.data, q.rows, v.cols}, "out");
    const size_t d = q.cols / heads, dv = v.cols / heads;
    const float scale = given.scale != 0 ? given.scale : 1.0f / std::sqrt(static_cast<float>(d));
    const ConstMatrix mask = given.mask ? ConstMatrix(given.mask, q.rows, k.rows) : ConstMatrix();
    Buffer own;
    for (size_t head = 0; head < heads; ++head) {
      const Matrix to = weights ? Matrix(weights + head * q.rows * k.rows, q.rows, k.rows)
                                : own.matrix(q.rows, k.rows);
      scaled_dot_product({q.data + head * d, q.rows, d, q.stride},
                         {k.data + head * d, k.rows, d, k.stride},
                         {v.data + head * dv, v.rows, dv, v.stride}, scale, mask, to,
                         {out + head * dv, q.rows, dv, v.cols});
    }
  });
}

int bert_pool(bert_matrix tokens, const char* mode, float* out) {
  return guard([&] {
    const ConstMatrix x = inner(tokens, "tokens");
    const std::string_view name = text_of(mode, BERT_NUL, "mode");
    pool(pooling_from_name(name), x, {&need(out, "out"), x.cols});
  });
}

double bert_cosine(const float* a, const float* b, size_t n) {
  return a && b ? cosine({a, n}, {b, n}) : std::nan("");
}
