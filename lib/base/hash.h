#pragma once

#include <cstdint>
#include <string_view>

#include "base/export.h"

namespace bert {

/// XXH64 (Collet 2012) of `bytes` with seed 0, as `xxh64sum` prints it: at memory speed, to tell
/// files apart; no protection against anyone who wants two to look the same.
BERT_API uint64_t xxh64(std::string_view bytes);

}  // namespace bert
