#pragma once

#include <vector>

#include "encoder/packed_batch.h"
#include "model/config.h"
#include "ops/matrix.h"

namespace bert {

class Team;

/// Sines and cosines of places, of one thread: they are computed up to the farthest place seen.
class RotaryTables {
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
/// the steps of the reference.
std::vector<float> rotary_frequencies(const Rotary& rotary, size_t head_size);

/// Turns queries and keys of all heads by their places (Su et al. 2021, RoFormer, eq. 34).
///
///   qkv [T, 3H], H = heads * D; its first 2H columns change, in place
void rotate(const Rotary& rotary, size_t heads, const PackedBatch& batch, Matrix qkv,
            RotaryTables& tables, Team* team);

}  // namespace bert
