#pragma once

#include <string>
#include <vector>

#include "directory/model_directory.h"
#include "model/config.h"

namespace bert {

/// The layers over tokens that lie beside a model (token_layer.h), a line for each: its file and
/// what reads it. Throws Error as find_token_layer.
std::vector<std::string> token_layers(const ModelDirectory& directory, const Config& config);

}  // namespace bert
