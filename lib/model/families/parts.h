#pragma once

#include "model/config.h"
#include "model/family.h"

namespace bert::family_rows {

/// What the tables of families are made of; family.cpp alone includes them.

inline constexpr size_t kMaxWidth = size_t{1} << 20, kMaxRows = size_t{1} << 27, kMaxLayers = 1000;

struct Naming {
  std::string_view model_type, class_prefix;
  std::string_view tensor_prefix = {};  ///< empty: the same
};

/// The same models under another name.
constexpr Family like(Family family, const Naming& naming) {
  family.model_type = naming.model_type;
  family.class_prefix = naming.class_prefix;
  if (!naming.tensor_prefix.empty()) family.tensor_prefix = naming.tensor_prefix;
  return family;
}

inline constexpr FixedKey kAbsolute[] = {
    {"position_embedding_type", "absolute", "relative positions are not supported"},
    {"is_decoder", "false", "decoders are not supported"},
    {"add_cross_attention", "false", "decoders are not supported"}};

}  // namespace bert::family_rows
