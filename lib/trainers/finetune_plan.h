#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/config.h"
#include "trainers/examples.h"
#include "trainers/finetune.h"

namespace bert {

/// How a run of finetune() goes: what the user said, and for the rest what suits the model and the
/// number of examples.
///   learning rate  5e-5 times 768 / hidden size, at most 1e-3; 1e-3 where only a head learns
///   batches        of 32; of fewer than 512 examples 16, of fewer than 128 8
///   epochs         3, or as many as make 60 steps
/// A batch is as many of these as a step accumulates.
struct FinetunePlan {
  double learning_rate = 0;
  size_t batch_size = 0;
  double epochs = 0;
  uint64_t steps_per_epoch = 0;
  uint64_t steps = 0;

  static FinetunePlan make(const FinetuneOptions& options, const Config& config, size_t examples);
  std::string text() const;
};

/// What was read to learn from: a line for each thing that a user should see before the first step.
/// `from` is how it was read.
std::vector<std::string> describe(HeadKind task, const ExampleOptions& from,
                                  std::span<const std::string> labels, const ExampleSet& train,
                                  const ExampleSet* dev);

/// The options with which --gold of classify, ner or qa reports the dev score, in a sentence. Empty
/// if these tools need no option, because they read all of `dev` as the training tools do.
std::string gold_options(HeadKind task, const ExampleOptions& from, const ExampleSet& dev,
                         const Config& config, const Tokenizer& tokenizer);

/// n / (classes * count of the class), as scikit-learn's "balanced".
std::vector<float> balanced_weights(const ExampleSet& set, size_t labels);
/// Whether an example has a label that weighs something.
bool any_weighs(const ExampleSet& set, std::span<const float> weights);

}  // namespace bert
