#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "directory/model_directory.h"
#include "directory/weight_files.h"
#include "golden.h"
#include "training/bert_network.h"
#include "training_fixture.h"

namespace bert::test {

/// Batches [first, last) of a fixture as one.
inline training::TrainingBatch batch_of(const Fixture& f, training::Objective objective,
                                        const Config& config, size_t index) {
  const std::vector<size_t> cu = f.sizes("cu_seq_lens"), batches = f.sizes("cu_batches");
  const std::vector<int32_t> ids = f.ints("input_ids"), types = f.ints("token_type_ids");
  training::TrainingBatch all;
  for (size_t s = 0; s + 1 < cu.size(); ++s) {
    const size_t n = cu[s + 1] - cu[s];
    all.batch.append(std::span(ids).subspan(cu[s], n), std::span(types).subspan(cu[s], n));
  }
  using training::Objective;
  const bool mlm = objective == Objective::pretrain || objective == Objective::masked_lm;
  if (mlm || objective == Objective::tokens) all.token_labels = f.ints("token_labels");
  const bool real =
      config.problem_type == "regression" || config.problem_type == "multi_label_classification";
  if (objective == Objective::pretrain || (objective == Objective::classify && !real)) {
    all.sequence_labels = f.ints("sequence_labels");
  }
  if (objective == Objective::classify && real) all.values = f.floats("values");
  if (objective == Objective::spans) all.starts = f.ints("starts"), all.ends = f.ints("ends");
  training::TrainingBatch part;
  training::slice(all, batches[index], batches[index + 1], part);
  return part;
}

/// A learner of a golden model.
inline std::unique_ptr<training::BertLearner> learner_of(const std::string& name,
                                                         training::Objective objective,
                                                         training::LearnerOptions options,
                                                         float dropout = 0) {
  const std::string directory = golden_model(name);
  training::HeadPlan head{objective, ModelDirectory(directory).config(), ""};
  head.dropout = training::DropoutRates::all(dropout);
  const Weights weights = open_weights(directory, head.config);
  auto learner =
      std::make_unique<training::BertLearner>(std::vector{std::move(head)}, std::move(options));
  const auto drawn =
      training::load_parameters(learner->layout(), weights, 1, 0.02f, learner->values());
  CHECK(drawn.empty());
  return learner;
}

}  // namespace bert::test
