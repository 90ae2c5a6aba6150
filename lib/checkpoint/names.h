#pragma once

#include <string>
#include <string_view>

namespace bert {

/// How the tensors of one file are named.
struct NameRules {
  std::string model_type;           ///< bert, distilbert, electra
  bool has_pre_classifier = false;  ///< DistilBERT's classifier of two layers
};

/// The canonical BERT name (see weights.h) of a tensor that a file calls `name`.
std::string canonical_name(std::string_view name, const NameRules& rules);

}  // namespace bert
