#pragma once

#include <bert/bert.h>

#include <cassert>
#include <cstddef>
#include <string_view>
#include <vector>

namespace bert {
inline namespace v0 {

/// A view of values one after the other; std::span in C++20 can be made from it.
template <typename T>
class Span {
 public:
  Span() = default;
  Span(T* data, size_t size) : data_(data), size_(size) {}
  template <typename U>
  Span(const std::vector<U>& values) : Span(values.data(), values.size()) {}

  T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](size_t i) const {
    assert(i < size_);
    return data_[i];
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using Floats = Span<const float>;

/// A view of a row-major matrix [rows, cols]. Of a result: until the next call with its batch.
class Matrix {
 public:
  Matrix() = default;
  Matrix(const float* data, size_t rows, size_t cols) : c_{data, rows, cols} {}
  Matrix(const bert_matrix& matrix) : c_(matrix) {}

  size_t rows() const { return c_.rows; }
  size_t cols() const { return c_.cols; }
  const float* data() const { return c_.data; }
  Floats operator[](size_t row) const {
    assert(row < c_.rows);
    return {c_.data + row * c_.cols, c_.cols};
  }
  /// Rows [begin, begin + count).
  Matrix slice(size_t begin, size_t count) const {
    assert(begin + count <= c_.rows);
    return {c_.data + begin * c_.cols, count, c_.cols};
  }
  /// For functions of bert.h.
  const bert_matrix& c() const { return c_; }

 private:
  bert_matrix c_{nullptr, 0, 0};
};

namespace detail {
inline std::string_view view(bert_text text) {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}
inline bert_text text(std::string_view text) {
  return {text.data() ? text.data() : "", text.size()};
}
}  // namespace detail

}  // namespace v0
}  // namespace bert
