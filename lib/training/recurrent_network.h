#pragma once

#include <memory>

#include "model/recurrent_config.h"
#include "training/network.h"
#include "training/target_loss.h"

namespace bert::training {

/// How a pair of recurrent nets is trained.
struct RecurrentTraining {
  double dropout = 0;          ///< rate for embeddings, and for the decoder's outputs
  double label_smoothing = 0;  ///< share of each target's probability that all words get
  /// The probability that the decoder reads the true word; else it reads the word that it finds
  /// likeliest itself (scheduled sampling, Bengio et al. 2015).
  double teacher_forcing = 1;
  int32_t unknown = -1;  ///< as in TargetPlan
};

/// A pair of recurrent nets that learns: the encoder reads the source, its last state is the
/// decoder's first, and the decoder learns each token of the target (Sutskever et al. 2014), with
/// attention if the config says so (Bahdanau et al. 2014).
///
/// Thread rule: as Network.
class RecurrentNetwork : public Network {
 public:
  explicit RecurrentNetwork(const RecurrentConfig& config, const RecurrentTraining& training = {})
      : config_(config), training_(training) {}

  const RecurrentConfig& config() const { return config_; }

  Layout layout() const override;
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  void check(const TrainingBatch& batch) const override;
  Tally count(const TrainingBatch& batch) const override { return count_targets(batch); }
  double cost(const TrainingBatch& batch, size_t s) const override;
  size_t pass_floats(size_t tokens, size_t longest) const override;

 private:
  RecurrentConfig config_;
  RecurrentTraining training_;
};

}  // namespace bert::training
