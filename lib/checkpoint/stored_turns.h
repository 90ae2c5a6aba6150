#pragma once

#include <string_view>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "model/config.h"

namespace bert {

/// Whether a tensor of this canonical name holds angles of the model's rotary positions.
BERT_API bool is_turn_tensor(const Config& config, std::string_view canonical_name);

/// Angles that a checkpoint has go into `config`: from now on the model turns by them, as in
/// transformers, and not by those that follow from config.json. They are rounded where the
/// checkpoint was once saved in half precision, as those of ESM-2 were. Throws Error(data) if they
/// have another shape than the config says, or if layers have different ones.
BERT_API void take_stored_turns(Config& config, const Weights& weights);

}  // namespace bert
