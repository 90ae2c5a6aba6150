#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/platform.h"

namespace bert {

/// Tables of so many bytes are in huge pages, if the system has them.
constexpr size_t kLargeTable = size_t{4} << 20;

/// The allocator of a vector that is touched all over: large ones are in huge pages.
template <typename T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <typename U>
  HugePages(const HugePages<U>&) {}

  T* allocate(size_t count) {
    T* const memory = std::allocator<T>().allocate(count);
    if (count * sizeof(T) >= kLargeTable) platform::prefer_huge_pages(memory, count * sizeof(T));
    return memory;
  }
  void deallocate(T* memory, size_t count) { std::allocator<T>().deallocate(memory, count); }
  bool operator==(const HugePages&) const { return true; }
};

}  // namespace bert
