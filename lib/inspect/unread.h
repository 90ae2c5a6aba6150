#pragma once

#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "model/config.h"

namespace bert {

/// The names, in the file, of tensors that belong to nothing that is computed: another kind of
/// model, or layers left over.
std::vector<std::string> unread_tensors(const ModelDirectory& directory, const Config& config,
                                        const Weights& weights);

/// Of the classes that config.json names, those that no tool computes.
std::vector<std::string> unknown_classes(const ModelDirectory& directory, const Config& config);

}  // namespace bert
