#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/team.h"
#include "training/layout.h"
#include "training/pass_order.h"
#include "training/tally.h"
#include "training/training_batch.h"

namespace bert::training {

/// The size of a step's batch.
struct StepSize {
  size_t sequences = 0, tokens = 0;  ///< tokens of sources and targets
  size_t longest = 0;                ///< tokens of the longest sequence
};

/// One pass of a step: some neighbouring sequences of one batch.
struct Pass {
  LossScale scale;        ///< turns sums over labels into shares of the step's mean losses
  uint64_t key = 0;       ///< key of dropout and of any other draw: made of seed, step and head
  size_t sequence_0 = 0;  ///< number of the pass's first sequence in the step's batch
  size_t token_0 = 0;     ///< number of its first token there
  size_t target_0 = 0;    ///< number of its first target token there
  int32_t lowest = 0;     ///< tensors of a lower depth (TensorSpec::depth) need no gradient
  Turn turn = {};         ///< among the passes that add to the same gradient
  bool learns = true;     ///< else only the losses are wanted: no gradient, no dropout
  Matrix d_vectors = {};  ///< the gradient of each sequence's vector, of Network::vector_size()
};

/// One thread's memory of a network: computes its passes. Parameters and gradient are those that
/// Network::lane() was given.
class Lane {
 public:
  virtual ~Lane() = default;

  /// Computes the losses of `part`. If the pass learns, adds their gradient, times pass.scale, to
  /// the lane's gradient. A draw (dropout, scheduled sampling) depends only on pass.key and the
  /// number of its token in the step, never on how the step was cut into passes.
  virtual Tally learn(const TrainingBatch& part, const Pass& pass) = 0;
  /// The vectors of a network that has some, one for each sequence: out [S, vector_size()].
  virtual void vectors(const TrainingBatch& /*part*/, const Pass& /*pass*/, Matrix /*out*/) {}
};

/// What a model is to the Learner: its tensors, and how one thread computes loss and gradient.
/// Everything else (threads, clipping, AdamW, checkpoints, the curve) is the same for all networks
/// and knows none of them.
///
/// Thread rule: const, so threads may share it. A Lane belongs to one thread.
class Network {
 public:
  virtual ~Network() = default;

  /// The tensors that are trained, and those that are saved with them but frozen.
  virtual Layout layout() const = 0;

  /// A lane over `values` and `gradient`, two arrays in the layout's order that outlive it.
  virtual std::unique_ptr<Lane> lane(const Layout& layout, float* values,
                                     float* gradient) const = 0;

  /// Throws Error if the network cannot compute this batch: an id outside its vocabulary, a
  /// sequence that is too long or empty.
  virtual void check(const TrainingBatch& batch) const = 0;

  /// The labels of a batch, without losses: the means of a step divide by tokens and sequences.
  virtual Tally count(const TrainingBatch& batch) const = 0;

  /// Where the loss of a sequence depends on the others of its batch: the width of the vectors by
  /// which they meet. Lane::learn() then has their gradient, and gives no losses.
  virtual size_t vector_size() const { return 0; }
  /// The counts and losses of a batch's vectors [S, vector_size()]. Adds to their gradient, if it
  /// has data.
  virtual Tally judge(const TrainingBatch& /*batch*/, ConstMatrix /*vectors*/,
                      Matrix /*gradient*/) const {
    return {};
  }

  /// The factor of this batch's loss in the loss of the step.
  virtual double weight(const TrainingBatch& /*batch*/) const { return 1; }

  /// Whether the lanes call Pass::turn, and add to each tensor in its stage only. Else each lane
  /// gets a gradient of its own.
  virtual bool takes_turns(const Layout& /*layout*/) const { return false; }
  /// Changes the gradient of a step after all passes.
  virtual void finish_gradient(const float* /*values*/, float* /*gradient*/, Team& /*team*/) const {
  }

  /// The work for sequence `s`, in any unit: passes get equal shares of it.
  virtual double cost(const TrainingBatch& batch, size_t s) const = 0;

  /// An estimate of the floats that a lane keeps for a pass of so many tokens, without the
  /// gradient.
  virtual size_t pass_floats(size_t tokens, size_t longest) const = 0;
  /// The same for evaluations between the steps.
  virtual size_t evaluation_floats(size_t /*threads*/, size_t /*longest*/) const { return 0; }

  /// Whether the layout's first tensor is a table of which a step only changes the rows of the
  /// batch's input_ids. Large vocabularies then cost no time in the other rows.
  virtual bool sparse_table(const Layout& /*layout*/) const { return false; }

  /// The tensors of model.safetensors. A parameter may stand in several of them.
  virtual std::vector<FileTensor> file_tensors(const Layout& layout) const {
    return plain_tensors(layout);
  }
  /// The same with what only a checkpoint needs.
  virtual std::vector<FileTensor> checkpoint_tensors(const Layout& layout) const {
    return file_tensors(layout);
  }
  /// The tensors of files beside model.safetensors.
  struct OtherFile {
    std::string name;
    std::vector<FileTensor> tensors;
  };
  virtual std::vector<OtherFile> other_files(const Layout& /*layout*/) const { return {}; }
  /// Sets values that follow from others, after the others changed. `kept`: the first moments.
  virtual void settle(float* /*values*/, const float* /*kept*/, Team& /*team*/) const {}
};

}  // namespace bert::training
