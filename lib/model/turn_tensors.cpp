#include "model/turn_tensors.h"

namespace bert {

bool is_turn_tensor(std::string_view name) {
  return name.ends_with("rotary_embeddings.inv_freq") || name == "encoder.embed_positions.weight";
}

}  // namespace bert
