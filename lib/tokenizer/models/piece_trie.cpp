#include "tokenizer/models/piece_trie.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/huge_pages.h"
#include "text/unicode.h"

namespace bert {
namespace {

/// Texts of about this many bytes have room in the table before they are entered.
constexpr size_t kRoomBytes = size_t{1} << 16;

}  // namespace

/// A text on its way into the trie.
struct PieceTrie::Path {
  std::string_view text;
  int32_t value = 0;
  size_t read = 0;
  Edge* last = nullptr;
  uint64_t key = 0;  ///< key of the next edge
};

/// Enters many texts at a time, an edge of each in turn, so that the table's cache misses overlap.
PieceTrie::PieceTrie(size_t texts, const std::function<std::string_view(size_t)>& text_of) {
  // In vocabularies of any size and script, about a quarter of the bytes are edges of their own.
  size_t all = 0;
  for (size_t k = 0; k < texts; ++k) all += text_of(k).size();
  resize(static_cast<unsigned>(std::bit_width(std::max<size_t>(all / 2, 32))));
  constexpr size_t kPaths = 16;
  std::vector<Path> paths;
  for (size_t begin = 0, end = 0; begin < texts; begin = end) {
    size_t bytes = 0;  // edges that a resize would move belong to no path
    for (; end < texts && bytes < kRoomBytes; ++end) bytes += text_of(end).size();
    while (used_ + bytes > mask_ / 8 * 5) resize(65 - shift_);
    for (size_t k = begin; k < end || !paths.empty();) {
      for (; k < end && paths.size() < kPaths; ++k) {
        paths.push_back({.text = text_of(k), .value = static_cast<int32_t>(k)});
      }
      std::erase_if(paths, [&](Path& path) { return !step(path); });
    }
  }
}

/// Enters the edge whose place was fetched, and fetches that of the next; false at the end.
bool PieceTrie::step(Path& path) {
  if (path.key != 0) {
    Edge& edge = place(path.key);
    if (edge.key == 0) {
      edge = {path.key, 0, -1};
      ++used_;
    }
    path.last = &edge;
  }
  if (path.read == path.text.size()) {
    if (path.last) path.last->value = path.value;
    return false;
  }
  const DecodedChar c = decode_utf8(path.text, path.read);
  path.read += c.length;
  uint32_t node = kRoot;
  if (path.last) {
    if (path.last->child == 0) {
      if (last_node_ >= kKeyMask >> 21) throw std::length_error("PieceTrie");
      path.last->child = ++last_node_;
    }
    path.last->key |= next_bit(c.code_point);
    node = path.last->child;
  }
  path.key = key_of(node, c.code_point);
  __builtin_prefetch(&edges_[slot(path.key)], 1);
  return true;
}

void PieceTrie::resize(unsigned bits) {
  const LazyZeros<Edge> old = std::exchange(edges_, LazyZeros<Edge>(size_t{1} << bits));
  const size_t old_size = old ? mask_ + 1 : 0;
  const size_t bytes = sizeof(Edge) << bits;
  if (bytes >= kLargeTable) platform::prefer_huge_pages(&edges_[0], bytes);
  shift_ = 64 - bits;
  mask_ = (size_t{1} << bits) - 1;
  for (size_t i = 0; i < old_size; ++i) {
    if (old[i].key != 0) place(old[i].key & kKeyMask) = old[i];
  }
}

/// The entry of `key`, or the empty one where it belongs.
PieceTrie::Edge& PieceTrie::place(uint64_t key) {
  size_t i = slot(key);
  while (edges_[i].key != 0 && (edges_[i].key & kKeyMask) != key) i = (i + 1) & mask_;
  return edges_[i];
}

int32_t PieceTrie::value(std::string_view text) const {
  const Edge* edge = nullptr;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    const uint64_t key = edge ? next(*edge, c.code_point) : first(c.code_point);
    edge = key == 0 ? nullptr : find(key);
    if (!edge) return -1;
    i += c.length;
  }
  return edge ? edge->value : -1;
}

}  // namespace bert
