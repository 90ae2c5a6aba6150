#pragma once

#include "io/json.h"
#include "model/config.h"

namespace bert {

/// Reads from config.json how tokens know their places: tables, rotary positions, windows,
/// disentangled attention. Throws Error(unsupported) naming key, value and what is wanted.
void read_positions(const Json& root, Config& config);

}  // namespace bert
