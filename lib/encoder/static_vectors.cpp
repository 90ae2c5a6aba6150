#include "encoder/static_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "directory/weight_files.h"
#include "model/static_config.h"
#include "ops/kernels.h"

namespace bert {
namespace {

const TensorView* tensor_named(const Weights& weights, std::string_view name) {
  for (const TensorView* tensor : weights.tensors()) {
    if (tensor->name == name) return tensor;
  }
  return nullptr;
}

[[noreturn]] void bad(const Weights& weights, const TensorView& tensor, const std::string& what) {
  throw Error(Error::Kind::data, weights.path(),
              fmt::format("tensor {} {}", printable(tensor.name, 200), what));
}

/// A tensor with one element for each token, or more.
void check_list(const Weights& weights, const TensorView& tensor, size_t tokens) {
  if (tensor.shape.size() == 1 && tensor.shape[0] >= tokens) return;
  bad(weights, tensor,
      fmt::format("is {}, wants one element for each of {} tokens",
                  fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tokens));
}

}  // namespace

StaticVectors StaticVectors::open(const StaticFiles& files, size_t tokens) {
  StaticVectors vectors(open_untied_weights(files.folder));
  const Weights& weights = vectors.weights_;
  const bool own = files.kind == StaticFiles::Kind::static_embedding;
  // sentence-transformers reads model2vec's table, too.
  const TensorView* table = own ? tensor_named(weights, kStaticEmbedding) : nullptr;
  const bool listed = table == nullptr;
  if (listed) table = tensor_named(weights, kStaticVectors);
  if (table == nullptr) {
    throw Error(Error::Kind::data, weights.path(),
                fmt::format("tensor {} is missing", own ? kStaticEmbedding : kStaticVectors));
  }
  if (table->shape.size() != 2 || table->elements() == 0) {
    bad(weights, *table,
        fmt::format("is {}, wants rows of vectors",
                    fmt::format("[{}]", fmt::join(table->shape, ", "))));
  }
  if (table->blocked || !(is_float(table->dtype) || table->dtype == DType::i8)) {
    bad(weights, *table,
        fmt::format("is {}, wants F32, F16, BF16, F64 or I8", dtype_name(table->dtype)));
  }
  vectors.table_ = table;
  const TensorView* mapping = listed ? tensor_named(weights, kStaticMapping) : nullptr;
  const TensorView* factors = listed ? tensor_named(weights, kStaticWeights) : nullptr;
  if (mapping != nullptr) vectors.read_mapping(*mapping, tokens);
  if (factors != nullptr) {
    check_list(weights, *factors, tokens);
    vectors.factors_ = weights.require(factors->name, factors->shape).floats();
  }
  if (mapping == nullptr && vectors.rows() < tokens) {
    bad(weights, *table,
        fmt::format("has {} rows, wants one for each of {} tokens", vectors.rows(), tokens));
  }
  return vectors;
}

void StaticVectors::read_mapping(const TensorView& tensor, size_t tokens) {
  check_list(weights_, tensor, tokens);
  if (tensor.dtype != DType::i64 && tensor.dtype != DType::i32) {
    bad(weights_, tensor, fmt::format("is {}, wants I64 or I32", dtype_name(tensor.dtype)));
  }
  const size_t bytes = dtype_size(tensor.dtype);
  rows_of_.resize(tokens);
  for (size_t id = 0; id < tokens; ++id) {
    int64_t row = 0;
    if (bytes == sizeof row) {
      std::memcpy(&row, tensor.data + id * bytes, bytes);
    } else {
      int32_t narrow = 0;
      std::memcpy(&narrow, tensor.data + id * bytes, bytes);
      row = narrow;
    }
    if (row < 0 || static_cast<uint64_t>(row) >= rows() || row > INT32_MAX) {
      bad(weights_, tensor,
          fmt::format("gives token {} row {}, wants 0 to {}", id, row, rows() - 1));
    }
    rows_of_[id] = static_cast<int32_t>(row);
  }
}

size_t StaticVectors::row_of(int32_t id) const {
  const auto token = static_cast<size_t>(id);
  return rows_of_.empty() ? token : static_cast<size_t>(rows_of_[token]);
}

void StaticVectors::vector(int32_t id, std::span<float> out) const {
  table_->row(row_of(id), out);
  if (factors_.empty()) return;
  const float factor = factors_[static_cast<size_t>(id)];
  for (float& value : out) value *= factor;
}

void StaticVectors::mean(std::span<const int32_t> ids, int32_t left_out, std::span<float> out,
                         std::vector<float>& scratch) const {
  std::fill(out.begin(), out.end(), 0.0f);
  scratch.resize(width());
  const Matrix sum(out.data(), 1, width());
  // What lies there as floats is added where it lies.
  const bool as_is = table_->dtype == DType::f32 && factors_.empty() &&
                     reinterpret_cast<uintptr_t>(table_->data) % alignof(float) == 0;
  size_t count = 0;
  for (const int32_t id : ids) {
    if (id == left_out) continue;
    ++count;
    const float* from = scratch.data();
    if (as_is) {
      from = reinterpret_cast<const float*>(table_->data) + row_of(id) * width();
    } else {
      vector(id, scratch);
    }
    add(ConstMatrix(from, 1, width()), sum);
  }
  if (count == 0) return;
  for (float& value : out) value /= static_cast<float>(count);
}

}  // namespace bert
