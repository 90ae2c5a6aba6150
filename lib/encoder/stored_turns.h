#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "model/config.h"

namespace bert {

/// Whether a tensor of this canonical name holds angles of the model's rotary positions.
BERT_API bool says_turns(const Config& config, std::string_view canonical_name);

/// What is said of a checkpoint whose angles are rounded to half precision, as transformers takes
/// them; empty: they are not, or it has none.
BERT_API std::string rounded_turns(const Config& config, const Weights& weights);

}  // namespace bert
