#pragma once

#include <functional>
#include <memory>

#include "base/export.h"
#include "encoder/model.h"
#include "training/learner.h"

namespace bert::training {

/// What a learner has learned so far, as the tools will see it: the encoder and the heads of
/// inference over the learner's own parameters, computed in float whatever training computes in.
/// Nothing is kept for a way back.
///
/// Sums and logits do not depend on the number of threads.
///
/// Thread rule: one owner, between two steps of the learner; it uses the learner's threads.
class BERT_API Evaluation {
 public:
  explicit Evaluation(Learner& learner, size_t head = 0);
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// With this head.
  const Model& model() const;

  /// Receives the logits of `part`, sequences [first, ..) of the batch.
  using Use = std::function<void(size_t first, const PackedBatch& part, ConstMatrix logits)>;

  /// The losses of a batch. Calls `use` for its parts in order, from this thread, with logits
  /// [S, labels] of texts, [T, labels] of tokens or [T, 2] of answers.
  Tally run(const TrainingBatch& batch, const Use& use = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert::training
