#pragma once

#include <set>
#include <string>
#include <string_view>

namespace bert {

/// How the tensors of one file are named.
struct NameRules {
  std::string model_type;  ///< bert, distilbert, electra
  /// Of DistilBERT's classifiers of two layers, what stands before `pre_classifier.`
  std::set<std::string, std::less<>> pre_classifiers;
};

/// "heads.NAME." of a tensor that belongs to a named head; else empty.
std::string_view head_prefix(std::string_view name);

/// The canonical BERT name (see weights.h) of a tensor that a file calls `name`, behind its
/// head_prefix.
std::string canonical_name(std::string_view name, const NameRules& rules);

}  // namespace bert
