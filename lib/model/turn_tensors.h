#pragma once

#include <string_view>

#include "base/export.h"

namespace bert {

/// Whether a tensor of this canonical name holds angles of rotary positions, which are computed
/// here: the frequencies of ESM, the sines of RoFormer.
BERT_API bool is_turn_tensor(std::string_view canonical_name);

}  // namespace bert
