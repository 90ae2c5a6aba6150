#pragma once

#include <string>
#include <vector>

#include "io/json.h"
#include "model/config.h"

namespace bert {

/// The classes of transformers that config.json names.
std::vector<std::string> architectures_of(const Json& root);
/// Reads what config.json says of the model's heads: labels, problem type, pooling, named heads.
void read_heads(const Json& root, Config& config);

}  // namespace bert
