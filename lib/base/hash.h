#pragma once

#include <cstdint>
#include <string_view>

#include "base/export.h"

namespace bert {

/// XXH64 (Collet 2012) of `bytes` with seed 0, as `xxh64sum` prints it. It tells files apart at the
/// speed of memory. It is not cryptographic: somebody can make two files with the same hash.
BERT_API uint64_t xxh64(std::string_view bytes);

}  // namespace bert
