#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/team.h"
#include "training/adamw.h"
#include "training/moving_average.h"
#include "training/network.h"

namespace bert::training {

struct LearnerOptions {
  OptimizerOptions optimizer;
  uint64_t seed = 1;
  int threads = 1;
  size_t max_pass_tokens = 2048;  ///< tokens per pass, whose activations a thread keeps; bounds
                                  ///< the memory
  bool bf16 = false;              ///< products in bfloat16; weights stay float
  double average = 0;             ///< decay of the moving average of all parameters; 0: none
};

struct StepResult {
  Tally tally;
  double loss = 0;  ///< the weighted sum of the batches' mean losses, which training minimises
  double gradient_norm = 0;
  double learning_rate = 0;
};

/// A network in training: its parameters, their moments, and the steps that change them.
///
/// The sequences of a step are cut into passes, which the threads take one after the other. Their
/// gradients are added in the order of the passes (training/pass_order.h), so a step gives the same
/// bits with any number of threads.
///
/// Thread rule: one owner; a learner has its own threads.
class Learner {
 public:
  Learner(std::unique_ptr<const Network> network, const LearnerOptions& options);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  const Network& network() const;
  Layout& layout();  ///< to freeze tensors or scale their learning rate
  float* values();   ///< layout().floats() floats each
  float* first_moments();
  float* second_moments();
  MovingAverage& average();       ///< moves after each step, if the options want it
  uint64_t steps() const;         ///< steps done
  void set_steps(uint64_t done);  ///< when resuming, after values and moments were filled

  /// One step of AdamW on the mean loss of `batch`. If the loss or the gradient is not finite,
  /// throws Error(data) that names the step, and changes no parameter.
  StepResult step(const TrainingBatch& batch) { return step({&batch, 1}); }
  /// The same on a sum of losses: the mean loss of each batch times Network::weight().
  StepResult step(std::span<const TrainingBatch> batches);
  /// The losses of a batch with the parameters as they are, without dropout. They do not depend on
  /// the number of threads.
  Tally evaluate(const TrainingBatch& batch);
  /// The vectors of a network that has some (Network::vector_size()), without dropout: out [S,
  /// vector_size()]. They do not depend on the number of threads.
  void vectors(const TrainingBatch& batch, Matrix out);
  /// An estimate of the further memory that steps of this size, and evaluations between them, will
  /// take after the learner was made.
  size_t bytes_to_come(const StepSize& size, bool evaluates) const;
  /// The threads, between two steps.
  Team& team();
  /// The gradient of the last step before clipping, layout().floats() floats, for tests. Rows of
  /// a sparse table that the step did not use may be undefined.
  const float* gradient() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert::training
