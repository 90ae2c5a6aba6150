#pragma once

#include <cstdint>
#include <string_view>

#include "base/export.h"

namespace bert {

/// XXH64 (Collet 2012) of `bytes` with seed 0, as `xxh64sum` prints it. It tells files apart at the
/// speed of memory. It is not cryptographic: somebody can make two files with the same hash.
BERT_API uint64_t xxh64(std::string_view bytes);

/// A fast hash of bytes that come in pieces, each but the last a multiple of 8 long.
class BERT_API StreamHash {
 public:
  explicit StreamHash(uint64_t start) : hash_(start) {}
  void add(std::string_view piece);
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_;
};

/// FNV-1a with 64 bits: for short texts, such as a record that is the key of its random numbers.
BERT_API uint64_t fnv1a(std::string_view bytes);

}  // namespace bert
