#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "encoder/model.h"
#include "golden.h"
#include "model/names.h"
#include "training/bert_network.h"
#include "training/encoder.h"
#include "training_fixture.h"
#include "training_models.h"

namespace bert::training {
namespace {

using test::batch_of;
using test::error;
using test::Fixture;
using test::golden_model;
using test::learner_of;

/// What make_families.py made fixtures of: the models of every family that is trained.
struct Case {
  std::string model;
  Objective objective;
};

Objective objective_of(const Config& config) {
  for (const HeadSpec& head : head_specs()) {
    const bool is = !head.class_suffix.empty() && head.kind != HeadKind::vectors &&
                    config.architectures[0].ends_with(head.class_suffix);
    if (is) return head.kind;
  }
  return Objective::vectors;
}

std::vector<Case> cases() {
  std::vector<Case> found;
  const std::string prefix = "family-", ending = ".safetensors";
  for (const auto& entry : std::filesystem::directory_iterator(golden_model("training"))) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(ending)) continue;
    const std::string model =
        name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
    const Config config = ModelDirectory(golden_model(model)).config();
    found.push_back({model, objective_of(config)});
  }
  return found;
}

/// The numbers of a tensor that the fixtures have.
std::vector<float> some(const BertLearner& learner, const FileTensor& tensor) {
  std::vector<float> all;
  for (const auto& [offset, size] : tensor.pieces) {
    all.insert(all.end(), learner.gradient() + offset, learner.gradient() + offset + size);
  }
  const size_t stride = std::max<size_t>(1, (all.size() + 31) / 32) | 1;
  std::vector<float> some;
  for (size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

}  // namespace

TEST_CASE("every gradient of all families' models equals autograd's within 1e-5") {
  const std::vector<Case> all = cases();
  CHECK(all.size() > 40);
  double worst = 0;
  for (const Case& c : all) {
    CAPTURE(c.model);
    const Fixture f("family-" + c.model);
    LearnerOptions options;
    options.threads = 2;
    options.optimizer.learning_rate = 0;
    const auto learner = learner_of(c.model, c.objective, options);
    const StepResult result = learner->step(batch_of(f, c.objective, learner->config(), 0));
    CHECK(result.tally.loss() == doctest::Approx(f.doubles("loss")[0]).epsilon(1e-5));
    const std::vector<std::string> names = f.names("grad.");
    size_t compared = 0;
    for (const FileTensor& tensor : learner->network().file_tensors(learner->layout())) {
      CAPTURE(tensor.name);
      if (std::find(names.begin(), names.end(), tensor.name) == names.end()) {
        FAIL_CHECK("save_pretrained has no such tensor");
        continue;
      }
      const std::vector<float> found = some(*learner, tensor);
      const std::vector<float> expected = f.floats("grad." + tensor.name);
      REQUIRE(found.size() == expected.size());
      ++compared;
      const double largest = static_cast<double>(f.floats("largest." + tensor.name)[0]);
      double difference = 0;
      for (size_t i = 0; i < found.size(); ++i) {
        difference = std::max(
            difference, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
      }
      // A key's bias has no gradient at all: softmax does not see it.
      const double relative = difference / std::max(largest, 1e-2);
      CHECK(relative < 1e-5);
      worst = std::max(worst, relative);
    }
    CHECK(compared > 0);
  }
  MESSAGE("the largest difference of a gradient, in shares of its tensor's largest: " << worst);
}

TEST_CASE("a step of any family has the same bits for any number of threads") {
  for (const Case& c : cases()) {
    CAPTURE(c.model);
    const Fixture f("family-" + c.model);
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
      LearnerOptions options;
      options.threads = threads;
      options.max_pass_tokens = 8;  // each sequence is a pass
      options.optimizer.learning_rate = 1e-3;
      const auto learner = learner_of(c.model, c.objective, options, 0.1f);
      for (size_t step = 0; step < 2; ++step) {
        learner->step(batch_of(f, c.objective, learner->config(), 0));
      }
      const float* values = learner->values();
      const std::vector<float> all(values, values + learner->layout().floats());
      if (first.empty()) first = all;
      CHECK(all == first);
    }
  }
}

TEST_CASE("the losses of 100 AdamW steps of several families equal PyTorch's within 1e-3") {
  for (const std::string model : {"albert-classifier", "deberta-v3-classifier", "modernbert-mlm",
                                  "nomic-classifier", "gte-ner"}) {
    CAPTURE(model);
    const Objective objective = objective_of(ModelDirectory(golden_model(model)).config());
    const Fixture f("steps-" + model);
    LearnerOptions options;
    options.threads = 2;
    options.optimizer.learning_rate = 1e-3;
    options.optimizer.warmup_steps = 10;
    options.optimizer.total_steps = 100;
    const auto learner = learner_of(model, objective, options);
    const std::vector<double> losses = f.doubles("losses");
    double worst = 0;
    for (size_t step = 0; step < losses.size(); ++step) {
      const StepResult result = learner->step(batch_of(f, objective, learner->config(), step % 10));
      worst = std::max(worst, std::abs(result.tally.loss() - losses[step]) / losses[step]);
    }
    CHECK(worst < 1e-3);
    MESSAGE(model << ": worst relative difference of the loss " << worst);
  }
}

TEST_CASE("the forward pass of training is that of the encoder, for all families") {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_model(""))) {
    const std::string directory = entry.path();
    if (!std::filesystem::exists(directory + "/model.safetensors")) continue;
    if (directory.ends_with("static-model2vec")) continue;
    CAPTURE(directory);
    std::optional<Model> model;
    try {
      model.emplace(Model::open(ModelDirectory(directory)));
    } catch (const Error&) {
      continue;  // of another kind
    }
    const Config& config = model->config();
    if (!config.family->not_trained.empty() || config.num_hidden_layers == 0) continue;
    HeadPlan head{Objective::vectors, config, ""};
    BertLearner learner({head}, {});
    load_parameters(learner.layout(), model->weights(), 1, 0.02f, learner.values());
    const ModelWeights weights = ModelWeights::view(learner.layout(), config, learner.values());
    Encoder encoder(config, weights);
    PackedBatch batch;
    for (const size_t length : {3, 17, 40}) {
      std::vector<int32_t> ids(std::min(length, config.max_tokens()));
      for (size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<int32_t>((5 + 7 * i + length) % config.vocab_size);
      }
      batch.append(ids, std::vector<int32_t>(ids.size()));
    }
    Workspace workspace;
    const ConstMatrix expected = model->forward(batch, workspace);
    const ConstMatrix found = encoder.forward(batch, {});
    const std::vector<float> a(found.data, found.data + found.rows * found.cols);
    const std::vector<float> b(expected.data, expected.data + expected.rows * expected.cols);
    CHECK(error(a, b) < 2e-5);
    ++compared;
  }
  CHECK(compared > 60);
}

}  // namespace bert::training
