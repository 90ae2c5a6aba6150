#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert {

/// A text on its way through normalizers: what it has become, and which bytes of the record each
/// byte of it stands for. This is the NormalizedString of tokenizers, with its rules for alignment.
///
/// Thread rule: belongs to one thread, which uses it for many texts; clear() keeps the memory.
struct NormalText {
  /// Bytes [begin, end) of the record.
  struct Span {
    uint32_t begin = 0;
    uint32_t end = 0;
    bool operator==(const Span&) const = default;
  };

  std::string text;           ///< UTF-8
  std::vector<Span> origins;  ///< [text.size()]; the bytes of one character have the same one

  void clear() {
    text.clear();
    origins.clear();
  }
  void append(std::string_view bytes, Span origin) {
    text.append(bytes);
    origins.insert(origins.end(), bytes.size(), origin);
  }
};

}  // namespace bert
