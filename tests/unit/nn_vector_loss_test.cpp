#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "nn/vector_loss.h"
#include "training/vector_network.h"
#include "training_fixture.h"
#include "training_models.h"

namespace bert::training {
namespace {

using test::Data;
using test::error;
using test::Fixture;
using test::golden_model;

struct Case {
  const char* name;
  nn::VectorLossPlan loss;
  std::vector<size_t> dims = {};
};

using nn::VectorLoss;
const Case kCases[] = {
    {"ranking", {VectorLoss::ranking, 2}},
    {"ranking-negatives", {VectorLoss::ranking, 4, 10}},
    {"ranking-symmetric", {VectorLoss::ranking, 2, 20, true}},
    {"ranking-symmetric-negatives", {VectorLoss::ranking, 3, 20, true}},
    {"ranking-dims", {VectorLoss::ranking, 3}, {24, 7}},
    {"cosent", {VectorLoss::cosent, 2}},
    {"cosent-dims", {VectorLoss::cosent, 2}, {24, 16, 5}},
    {"cosine", {VectorLoss::cosine, 2}},
    {"triplet", {VectorLoss::triplet, 3}},
    {"teacher", {VectorLoss::teacher, 1}},
    {"teacher-dims", {VectorLoss::teacher, 1}, {24, 9}},
};

/// A network over a golden model; its batch has two records for each column.
VectorNetwork network_of(const std::string& model, VectorTask task) {
  HeadPlan trunk{Objective::vectors, ModelDirectory(golden_model(model)).config(), ""};
  return {std::move(trunk), std::move(task), false};
}

TrainingBatch texts(const Config& config, size_t columns) {
  TrainingBatch batch;
  for (size_t s = 0; s < 4 * columns; ++s) {
    std::vector<int32_t> ids(3 + 5 * s % 17);
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int32_t>((5 + 7 * i + 11 * s) % config.vocab_size);
    }
    batch.batch.append(ids, std::vector<int32_t>(ids.size()));
  }
  for (size_t r = 0; r < 4; ++r) batch.values.push_back(static_cast<float>(r) / 4);
  return batch;
}

}  // namespace

TEST_CASE("losses of vectors and their gradients are those of sentence-transformers") {
  const Fixture f("vectors");
  for (const Case& c : kCases) {
    const std::string name = c.name;
    CAPTURE(name);
    Data x(f, name + ".x"), dx(x.rows, x.cols);
    TrainingBatch batch;
    for (size_t s = 0; s < x.rows; ++s) batch.batch.append({}, {});
    batch.values = f.floats(name + ".targets");
    VectorTask task;
    task.loss = c.loss;
    task.dims = c.dims;
    const VectorNetwork network = network_of("st-mean", task);
    const Tally tally = network.judge(batch, x.matrix(), dx.matrix());
    CHECK(tally.loss() == doctest::Approx(f.doubles(name + ".loss")[0]).epsilon(1e-6));
    CHECK(error(dx.values, f.floats(name + ".dx")) < 1e-5);
  }
}

TEST_CASE("vectors: the slope of each loss is that of finite differences, however it is cut") {
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::max, Pooling::lasttoken,
                                Pooling::mean_sqrt_len_tokens, Pooling::weightedmean}) {
    for (const VectorLoss loss : {VectorLoss::ranking, VectorLoss::cosent, VectorLoss::triplet}) {
      CAPTURE(static_cast<int>(pooling));
      CAPTURE(static_cast<int>(loss));
      VectorTask task;
      task.loss.loss = loss;
      task.loss.columns = loss == VectorLoss::triplet ? 3 : 2;
      task.poolings = {pooling};
      task.normalize = true;
      std::vector<float> gradients[2];
      for (const size_t tokens : {size_t{2048}, size_t{30}}) {
        LearnerOptions options;
        options.threads = 2;
        options.max_pass_tokens = tokens;
        options.optimizer.learning_rate = 0;
        Learner learner(std::make_unique<VectorNetwork>(network_of("st-mean", task)), options);
        const auto& network = static_cast<const VectorNetwork&>(learner.network());
        draw_parameters(learner.layout(), 3, 0.4f, learner.values());
        TrainingBatch batch = texts(network.config(), task.loss.columns);
        batch.starts.assign(batch.sequences(), 1);
        learner.step(batch);
        std::vector<float>& gradient = gradients[tokens == 30];
        gradient.assign(learner.gradient(), learner.gradient() + learner.layout().floats());
        const Parameter* p = learner.layout().find("encoder.layer.0.intermediate.dense.weight");
        for (size_t i = 0; i < p->size; i += 61) {
          float& value = learner.values()[p->offset + i];
          constexpr float kStep = 1e-2f;
          const float old = value;
          value = old + kStep;
          const double up = learner.step(batch).loss;
          value = old - kStep;
          const double down = learner.step(batch).loss;
          value = old;
          const double slope = (up - down) / (2 * static_cast<double>(kStep));
          CHECK(slope == doctest::Approx(static_cast<double>(gradient[p->offset + i]))
                             .epsilon(0.05)
                             .scale(0.1));
        }
      }
      const Layout layout = network_of("st-mean", task).layout();
      for (const Parameter& p : layout.parameters()) {
        if (p.role == Role::word_embeddings) continue;  // rows that no text has are undefined
        const auto part = [&](const std::vector<float>& all) {
          const auto first = all.begin() + static_cast<std::ptrdiff_t>(p.offset);
          return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(p.size));
        };
        CHECK(error(part(gradients[1]), part(gradients[0])) < 1e-3);
      }
    }
  }
}

}  // namespace bert::training
