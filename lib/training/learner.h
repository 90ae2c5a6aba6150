#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/export.h"
#include "base/team.h"
#include "training/adamw.h"
#include "training/head.h"
#include "training/parameters.h"
#include "training/training_batch.h"

namespace bert::training {

struct LearnerOptions {
  OptimizerOptions optimizer;
  uint64_t seed = 1;
  int threads = 1;
  size_t max_pass_tokens = 2048;  ///< that one thread keeps activations of; bounds the memory
  bool bf16 = false;              ///< products in bfloat16; weights stay float
};

/// How large a step's batch gets.
struct StepSize {
  size_t sequences = 0, tokens = 0;
  size_t longest = 0;  ///< tokens of a sequence
};

struct StepResult {
  Tally tally;
  double loss = 0;  ///< the heads' mean losses, weighted and summed: what is minimised
  double gradient_norm = 0;
  double learning_rate = 0;
};

/// A model being trained: its parameters, their moments, and the steps that change them. One or
/// several heads learn over one trunk.
///
/// A step's sequences are shared out to the threads by their cost; each thread that has one adds
/// its gradients to its own run of floats, and these are added in the order of the threads. So a
/// step is the same to the last bit each time it is run with one number of threads.
///
/// Thread rule: one owner; it brings its own threads.
class BERT_API Learner {
 public:
  /// The heads' configs are of one trunk.
  Learner(std::vector<HeadPlan> heads, const LearnerOptions& options);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  const Config& config() const;  ///< the first head's
  const std::vector<HeadPlan>& heads() const;
  Layout& layout();  ///< to freeze tensors or scale their learning rate
  float* values();   ///< layout().floats() floats each
  float* first_moments();
  float* second_moments();
  uint64_t steps() const;         ///< done
  void set_steps(uint64_t done);  ///< when resuming, after the three runs were filled

  /// One step of AdamW on the mean loss of `batch`. Throws Error(data) naming the step, before any
  /// parameter changes, if loss or gradient is not finite.
  StepResult step(const TrainingBatch& batch) { return step({&batch, 1}); }
  /// The same on the sum of the heads' losses, each the mean of one batch times the head's weight.
  StepResult step(std::span<const TrainingBatch> batches);
  /// An estimate of the memory that steps of this size, and evaluations between them, will take
  /// beyond what the learner holds before its first step.
  size_t bytes_to_come(const StepSize& size, bool evaluates) const;
  /// How many threads have had sequences in one step; each of them holds a gradient.
  size_t lanes() const;
  /// The threads, between two steps.
  Team& team();
  /// The gradient of the last step before clipping, layout().floats() floats; for tests. Rows of
  /// the word table that were not used are not set.
  const float* gradient() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert::training
