#pragma once

#include <cstddef>
#include <vector>

#include "base/export.h"
#include "encoder/packed_batch.h"

namespace bert {

/// Tokens that enter a model alike: id, type and position are equal. What is computed for each
/// token by itself, before tokens meet in attention, is the same for all of a kind. Copies of one
/// sentence, each with another mask, are nearly all alike.
struct BERT_API AlikeTokens {
  std::vector<size_t> first;  ///< [U] the first token of each kind
  std::vector<size_t> kind;   ///< [T] the kind of each token

  /// Compares each sequence with the one before it; others are taken for different.
  void find(const PackedBatch& batch);
  /// Whether so many are alike that it pays to compute each kind once.
  bool many() const { return 2 * first.size() <= kind.size(); }
};

}  // namespace bert
