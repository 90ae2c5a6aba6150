#include "encoder/batch_check.h"

#include <fmt/format.h>

#include "base/error.h"

namespace bert {

void check_batch(const PackedBatch& batch, const Config& config) {
  for (const int32_t id : batch.input_ids) {
    if (id < 0 || static_cast<size_t>(id) >= config.vocab_size) {
      throw Error(Error::Kind::data, config.path,
                  fmt::format("token id {} is outside the model's vocabulary of {}", id,
                              config.vocab_size));
    }
  }
  for (const int32_t type : batch.token_type_ids) {
    if (config.type_vocab_size > 0 && static_cast<size_t>(type) >= config.type_vocab_size) {
      throw Error(Error::Kind::data, config.path,
                  fmt::format("a pair needs token type {}, but type_vocab_size is {}", type,
                              config.type_vocab_size));
    }
  }
  for (size_t s = 0; s < batch.sequences(); ++s) {
    if (batch.length(s) > config.max_tokens()) {
      throw Error(
          Error::Kind::data, config.path,
          fmt::format("a sequence of {} tokens, but max_position_embeddings is {}", batch.length(s),
                      config.max_position_embeddings - config.family->more_positions));
    }
  }
}

}  // namespace bert
