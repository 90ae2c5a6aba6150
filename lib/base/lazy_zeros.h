#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace bert {

/// An array of zeros that takes memory only where it is touched: calloc gets large arrays straight
/// from the system, while a vector writes all its zeros at once. Throws std::bad_alloc.
template <typename T>
class LazyZeros {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  LazyZeros() = default;
  explicit LazyZeros(size_t size) : memory_(std::calloc(size + 1, sizeof(T))) {
    if (!memory_) throw std::bad_alloc();
    void* first = memory_.get();
    size_t space = (size + 1) * sizeof(T);
    data_ = static_cast<T*>(std::align(alignof(T), size * sizeof(T), first, space));
  }

  T& operator[](size_t i) const { return data_[i]; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
};

}  // namespace bert
