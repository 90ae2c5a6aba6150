#include "tokenizer/piece_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/unicode.h"

namespace bert {

PieceTrie::PieceTrie(size_t texts) {
  resize(static_cast<unsigned>(std::bit_width(std::max<size_t>(texts, 8))) + 1);
}

void PieceTrie::resize(unsigned bits) {
  const LazyZeros<Edge> old = std::exchange(edges_, LazyZeros<Edge>(size_t{1} << bits));
  const size_t old_size = old ? mask_ + 1 : 0;
  shift_ = 64 - bits;
  mask_ = (size_t{1} << bits) - 1;
  for (size_t i = 0; i < old_size; ++i) {
    if (old[i].key != 0) place(old[i].key) = old[i];
  }
}

PieceTrie::Edge& PieceTrie::place(uint64_t key) {
  size_t i = slot(key);
  while (edges_[i].key != key && edges_[i].key != 0) i = (i + 1) & mask_;
  return edges_[i];
}

void PieceTrie::add(std::string_view text, int32_t value) {
  uint32_t node = kRoot;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++depth) {
    const DecodedChar c = decode_utf8(text, i);
    i += c.length;
    if (used_ > mask_ / 2) resize(65 - shift_);
    Edge& edge = place(key(node, c.code_point));
    if (edge.key == 0) {
      edge = {key(node, c.code_point), 0, -1};
      ++used_;
    }
    if (i == text.size()) {
      edge.value = value;
    } else if (edge.child == 0) {
      edge.child = ++last_node_;
    }
    node = edge.child;
  }
  longest_ = std::max(longest_, depth);
}

int32_t PieceTrie::value(std::string_view text) const {
  uint32_t node = kRoot;
  const Edge* edge = nullptr;
  for (size_t i = 0; i < text.size(); node = edge->child) {
    const DecodedChar c = decode_utf8(text, i);
    edge = node == 0 ? nullptr : find(node, c.code_point);
    if (!edge) return -1;
    i += c.length;
  }
  return edge ? edge->value : -1;
}

}  // namespace bert
