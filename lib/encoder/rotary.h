#pragma once

#include <vector>

#include "base/export.h"
#include "encoder/packed_batch.h"
#include "model/config.h"
#include "ops/matrix.h"

namespace bert {

class Team;

/// Sines and cosines of places, of one thread: they are computed up to the farthest place seen.
class BERT_API RotaryTables {
 public:
  /// [places, D]: D / 2 cosines, then D / 2 sines. Valid until the next call.
  ConstMatrix of(const Rotary& rotary, size_t head_size, size_t places);

 private:
  struct Table {
    Rotary rotary;
    size_t head_size;
    std::vector<float> turns;
  };
  std::vector<Table> tables_;
};

/// The angle by which each pair of a head turns from one place to the next: [D / 2], in floats with
/// the steps of the reference, or as the checkpoint has them.
std::vector<float> rotary_frequencies(const Rotary& rotary, size_t head_size);

/// Heads side by side, from the first column on.
struct HeadColumns {
  size_t count = 0, size = 0;
};

/// Turns queries and keys by their places (Su et al. 2021, RoFormer, eq. 34).
///
///   qkv [T, ..]; the columns of `heads`, which are those of queries and keys, change in place
///   back: the other way, as gradients turn
BERT_API void rotate(const Rotary& rotary, HeadColumns heads, const PackedBatch& batch, Matrix qkv,
                     RotaryTables& tables, Team* team, bool back = false);

}  // namespace bert
