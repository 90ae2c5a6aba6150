#pragma once

#include <cstddef>

#include "base/export.h"
#include "io/rows.h"
#include "model/config.h"

namespace bert {

/// step shape elements parameters: what one text of `tokens` tokens goes through. Throws
/// Error(usage) if the model has no such position.
BERT_API void write_shapes(const Config& config, size_t tokens, Rows& rows);

}  // namespace bert
