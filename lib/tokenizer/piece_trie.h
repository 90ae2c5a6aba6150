#pragma once

#include <cstdint>
#include <string_view>

#include "base/lazy_zeros.h"

namespace bert {

/// Texts as paths of code points, in one open-addressing table of edges, built in about 150 ns a
/// text. Only a node with children has a number, so that a walk ends at a leaf without a look-up.
///
/// Thread rule: const after the last add().
class PieceTrie {
 public:
  struct Edge {
    uint64_t key;    ///< node and code point; 0: an empty entry
    uint32_t child;  ///< 0: none
    int32_t value;   ///< -1: no text ends here
  };
  static constexpr uint32_t kRoot = 1;

  explicit PieceTrie(size_t texts);
  /// Of equal texts the last value stays. An empty text is no path.
  void add(std::string_view text, int32_t value);
  /// nullptr: none.
  const Edge* find(uint32_t node, char32_t c) const {
    const uint64_t wanted = key(node, c);
    for (size_t i = slot(wanted);; i = (i + 1) & mask_) {
      const Edge& edge = edges_[i];
      if (edge.key == wanted) return &edge;
      if (edge.key == 0) return nullptr;
    }
  }
  int32_t value(std::string_view text) const;  ///< -1: none
  size_t longest() const { return longest_; }  ///< code points of the longest text

 private:
  static uint64_t key(uint32_t node, char32_t c) { return (uint64_t{node} << 21) | c; }
  size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
  void resize(unsigned bits);
  Edge& place(uint64_t key);

  LazyZeros<Edge> edges_;
  unsigned shift_ = 64;
  size_t mask_ = 0;
  size_t used_ = 0;
  uint32_t last_node_ = kRoot;
  size_t longest_ = 0;
};

}  // namespace bert
