#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Makes the bytes of a text of a stream that is packed: gzip (RFC 1952), zstd (RFC 8878), xz or
/// bzip2, of one part or several, or of one in UTF-16 with a mark, whose unpaired surrogates stay
/// as invalid UTF-8. Memory is bounded, whatever the stream unpacks to. Thread rule: one thread.
class BERT_API Unpacker {
 public:
  /// Bytes that tell every kind.
  static constexpr size_t kMagic = 6;
  /// nullptr: a stream that begins so is a text as it is. With fewer than kMagic bytes, `start` is
  /// all of it.
  static std::unique_ptr<Unpacker> of(std::string_view start);
  /// Whether a stream that begins with `start`, less than kMagic bytes, may be packed.
  static bool may_begin(std::string_view start);
  virtual ~Unpacker();

  /// Takes bytes from the begin of `in`, and returns how many bytes of `out` it has filled. 0: it
  /// wants more, or at the `end` there is no more. Throws Error(data) without a place, naming
  /// what is damaged; a stream that ends in the middle is damaged, too.
  virtual size_t run(std::string_view& in, std::span<char> out, bool end) = 0;
};

}  // namespace bert
