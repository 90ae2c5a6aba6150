#pragma once

#include <vector>

#include "base/export.h"
#include "model/heads.h"
#include "model/schema.h"

namespace bert {

/// The tensors of the BiLSTM that config.bilstm names: of layer l forward at index 8 l, four
/// tensors, then backward.
std::vector<TensorSpec> bilstm_tensors(const Config& config);
/// The tensors of a head, and of the pooler where it reads that. A decoder that may be the word
/// table is not required.
BERT_API std::vector<TensorSpec> head_tensors(const Config& config, HeadKind kind);
}  // namespace bert
