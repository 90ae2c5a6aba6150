#pragma once

#include <vector>

#include "inspect/compare_models.h"

namespace bert {

/// compare_models of models that translate: how many lines both translate alike, and how far apart
/// they are in the log-probability of the original's translations, by token.
std::vector<Agreement> compare_translations(const CompareOptions& options);

}  // namespace bert
