#pragma once

#include <functional>
#include <memory>

#include "encoder/model.h"
#include "training/bert_network.h"

namespace bert::training {

/// A learner's model as the tools will run it: the encoder and heads of inference with the
/// learner's parameters. It computes in float, also if training uses bf16, and keeps no
/// activations.
///
/// Losses and logits do not depend on the number of threads.
///
/// Thread rule: one owner, between two steps of the learner, whose threads it uses.
class Evaluation {
 public:
  explicit Evaluation(BertLearner& learner, size_t head = 0);
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// The model with this head.
  const Model& model() const;

  /// Receives the logits of `part`, whose first sequence is sequence `first` of the batch.
  using Use = std::function<void(size_t first, const PackedBatch& part, ConstMatrix logits)>;

  /// The losses of a batch. Calls `use` for its parts in order, in this thread, with logits [S,
  /// labels] for texts, [T, labels] for tokens or [T, 2] for answers.
  Tally run(const TrainingBatch& batch, const Use& use = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert::training
