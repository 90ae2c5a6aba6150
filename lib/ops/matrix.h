#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace bert {

/// A read-only view of a row-major float matrix [rows, cols]; a row begins `stride` floats after
/// the row before it.
struct ConstMatrix {
  const float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  ConstMatrix() = default;
  ConstMatrix(const float* d, size_t r, size_t c) : ConstMatrix(d, r, c, c) {}
  ConstMatrix(const float* d, size_t r, size_t c, size_t s)
      : data(d), rows(r), cols(c), stride(s) {}
  const float* row(size_t i) const { return data + i * stride; }
  /// Rows [begin, begin + count).
  ConstMatrix slice(size_t begin, size_t count) const { return {row(begin), count, cols, stride}; }
};

/// A writable view; see ConstMatrix.
struct Matrix {
  float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  Matrix() = default;
  Matrix(float* d, size_t r, size_t c) : Matrix(d, r, c, c) {}
  Matrix(float* d, size_t r, size_t c, size_t s) : data(d), rows(r), cols(c), stride(s) {}
  float* row(size_t i) const { return data + i * stride; }
  Matrix slice(size_t begin, size_t count) const { return {row(begin), count, cols, stride}; }
  operator ConstMatrix() const { return {data, rows, cols, stride}; }
};

/// Columns [begin, begin + count).
inline ConstMatrix columns(ConstMatrix m, size_t begin, size_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}
inline Matrix columns(Matrix m, size_t begin, size_t count) {
  return {m.data + begin, m.rows, count, m.stride};
}

/// Copies all rows; both have the same shape.
inline void copy(ConstMatrix from, Matrix to) {
  for (size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
}

/// Memory aligned to 64 bytes, not initialised. It grows and never shrinks; growing loses the
/// content. One per thread and purpose. Throws std::bad_alloc.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t floats) { reserve(floats); }

  float* reserve(size_t floats) {
    if (floats > capacity_) {
      const size_t grown = floats + floats / 4;
      data_.reset(
          static_cast<float*>(std::aligned_alloc(64, (grown * sizeof(float) + 63) / 64 * 64)));
      if (!data_) throw std::bad_alloc();
      capacity_ = grown;
    }
    return data_.get();
  }
  /// The buffer as a dense matrix [rows, cols].
  Matrix matrix(size_t rows, size_t cols) { return {reserve(rows * cols), rows, cols}; }
  /// The same, filled with zeros.
  Matrix zeros(size_t rows, size_t cols) {
    const Matrix m = matrix(rows, cols);
    std::fill_n(m.data, rows * cols, 0.f);
    return m;
  }
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
  size_t capacity_ = 0;
};

}  // namespace bert
