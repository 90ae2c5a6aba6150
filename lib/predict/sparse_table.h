#pragma once

#include <span>
#include <string>
#include <vector>

#include "directory/model_directory.h"
#include "predict/sparse_vectors.h"
#include "tokenizer/tokenizer.h"

namespace bert {

/// The table of a SparseStaticEmbedding: each entry of the vocabulary that a text has gets the
/// weight that stands here, whatever stands beside it. Const, shared by all threads.
class BERT_API SparseTable {
 public:
  /// Reads the weights in the directory. Throws Error(data) naming file and tensor if there is not
  /// one for each token, unsupported for weights in a file of another kind.
  static SparseTable open(const ModelDirectory& directory, const Tokenizer& tokenizer);

  std::span<const float> weights() const { return weights_; }
  /// How texts are read: without special tokens, and at most so long as the tokenizer says.
  static ReadOptions reading(const TaskRequest& request, const Tokenizer& tokenizer);

 private:
  std::vector<float> weights_;  ///< [V]
};

class BERT_API SparseTablePredictor : public SparseVectors {
 public:
  /// Borrows the table.
  explicit SparseTablePredictor(const SparseTable& table) : table_(table) {}
  void use_team(Team*) override {}
  void predict(const Sequences& sequences, size_t texts, const Use& use) override;

 private:
  const SparseTable& table_;
  std::vector<float> text_;  ///< [V]
};

}  // namespace bert
