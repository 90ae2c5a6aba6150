#pragma once

#include "base/export.h"
#include "encoder/packed_batch.h"
#include "model/config.h"

namespace bert {

/// Throws Error(data) naming config.json if the batch has an id outside the vocabulary, a token
/// type outside the table, or a sequence longer than the positions.
BERT_API void check_batch(const PackedBatch& batch, const Config& config);

}  // namespace bert
