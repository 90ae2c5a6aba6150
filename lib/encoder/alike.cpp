#include "encoder/alike.h"

namespace bert {

void AlikeTokens::find(const PackedBatch& batch) {
  first.clear();
  kind.resize(batch.tokens());
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s);
    for (size_t i = 0; i < batch.length(s); ++i) {
      const size_t t = begin + i;
      const size_t before = s > 0 && i < batch.length(s - 1) ? batch.begin(s - 1) + i : t;
      const bool alike = before < t && batch.input_ids[before] == batch.input_ids[t] &&
                         batch.token_type_ids[before] == batch.token_type_ids[t] &&
                         batch.position_ids[before] == batch.position_ids[t];
      if (!alike) first.push_back(t);
      kind[t] = alike ? kind[before] : first.size() - 1;
    }
  }
}

}  // namespace bert
