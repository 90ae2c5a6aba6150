#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "nn/maxsim_loss.h"
#include "training/vector_network.h"
#include "training_fixture.h"
#include "training_models.h"

namespace bert::training {
namespace {

using test::Data;
using test::error;
using test::Fixture;
using test::golden_model;

ModulePlan dense(const std::string& folder, size_t in, size_t out, Activation activation,
                 bool residual = false) {
  ModulePlan plan{folder, {}};
  plan.layer.in_features = in;
  plan.layer.out_features = out;
  plan.layer.activation = activation;
  plan.layer.residual = residual;
  return plan;
}

ModulePlan norm(const std::string& folder, size_t width) {
  ModulePlan plan{folder, {}};
  plan.layer.kind = ModuleLayer::Kind::norm;
  plan.layer.prefix = "norm.";
  plan.layer.in_features = plan.layer.out_features = width;
  return plan;
}

VectorNetwork network_of(const std::string& model, VectorTask task) {
  HeadPlan trunk{Objective::vectors, ModelDirectory(golden_model(model)).config(), ""};
  return {std::move(trunk), std::move(task), false};
}

/// Four records of two texts; the first ones are filled up, or not.
TrainingBatch texts(const Config& config, bool fills_up) {
  TrainingBatch batch;
  for (size_t s = 0; s < 8; ++s) {
    const size_t n = s % 2 == 0 ? 8 : 3 + 5 * s % 11;
    std::vector<int32_t> ids(n);
    for (size_t i = 0; i < n; ++i) {
      ids[i] = static_cast<int32_t>((5 + 7 * i + 11 * s) % config.vocab_size);
      batch.token_labels.push_back(s % 2 == 0 || i % 4 != 2);
    }
    batch.batch.append(ids, std::vector<int32_t>(n));
    if (fills_up) batch.batch.attended.push_back(s % 2 == 0 ? 3 + s / 2 : n);
  }
  return batch;
}

/// The gradient of a step, checked against slopes at some numbers of a tensor.
std::vector<float> checked_gradient(const std::string& model, const VectorTask& task, bool fills_up,
                                    size_t pass_tokens) {
  LearnerOptions options;
  options.threads = 2;
  options.max_pass_tokens = pass_tokens;
  options.optimizer.learning_rate = 0;
  Learner learner(std::make_unique<VectorNetwork>(network_of(model, task)), options);
  const auto& network = static_cast<const VectorNetwork&>(learner.network());
  draw_parameters(learner.layout(), 3, 0.4f, learner.values());
  const TrainingBatch batch = texts(network.config(), fills_up);
  learner.step(batch);
  const std::vector<float> gradient(learner.gradient(),
                                    learner.gradient() + learner.layout().floats());
  for (const Parameter& p : learner.layout().parameters()) {
    const bool wanted = is_module_tensor(p.name) || p.role == Role::query || p.role == Role::value;
    for (size_t i = 0; wanted && i < p.size; i += std::max<size_t>(p.size / 5, 1)) {
      CAPTURE(p.name);
      float& value = learner.values()[p.offset + i];
      constexpr float kStep = 4e-3f;
      const float old = value;
      value = old + kStep;
      const double up = learner.step(batch).loss;
      value = old - kStep;
      const double down = learner.step(batch).loss;
      value = old;
      const double slope = (up - down) / (2 * static_cast<double>(kStep));
      CHECK(slope ==
            doctest::Approx(static_cast<double>(gradient[p.offset + i])).epsilon(0.05).scale(0.1));
    }
  }
  return gradient;
}

void check_slopes(const std::string& model, const VectorTask& task, bool fills_up) {
  const std::vector<float> whole = checked_gradient(model, task, fills_up, 2048);
  const std::vector<float> cut = checked_gradient(model, task, fills_up, 20);
  const Layout layout = network_of(model, task).layout();
  for (const Parameter& p : layout.parameters()) {
    if (p.role == Role::word_embeddings) continue;  // rows that no text has are undefined
    const auto part = [&](const std::vector<float>& all) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(p.offset);
      return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(p.size));
    };
    CHECK(error(part(cut), part(whole)) < 1e-3);
  }
}

}  // namespace

TEST_CASE("the contrastive loss of vectors of tokens and its gradient are those of PyLate") {
  const Fixture f("late");
  for (const auto& [name, columns, scale] :
       {std::tuple(std::string("pairs"), size_t{2}, 1.f), {"negatives", size_t{3}, 2.f}}) {
    CAPTURE(name);
    Data x(f, name + ".x"), dx(x.rows, x.cols), unit(x.rows, x.cols), d(x.rows, x.cols);
    Data lengths(x.rows, 1);
    nn::unit_forward(x.matrix(), unit.matrix(), lengths.matrix());
    const std::vector<int32_t> part = f.ints(name + ".part");
    const std::vector<size_t> all = f.sizes(name + ".ends");
    std::vector<size_t> ends{0}, rows;
    for (size_t s = 0; s + 1 < all.size(); ++s) {
      for (size_t t = all[s]; t < all[s + 1]; ++t) {
        if (part[t] != 0) rows.push_back(t);
      }
      ends.push_back(rows.size());
    }
    Data own(rows.size(), x.cols), d_own(rows.size(), x.cols);
    for (size_t i = 0; i < rows.size(); ++i) {
      copy(unit.matrix().slice(rows[i], 1), own.matrix().slice(i, 1));
    }
    nn::VectorLossPlan plan;
    plan.columns = columns;
    plan.scale = scale;
    nn::MaxSimBuffers buffers;
    size_t right = 0;
    const double loss =
        nn::maxsim_loss(plan, own.matrix(), ends, 1, d_own.matrix(), right, buffers);
    CHECK(loss == doctest::Approx(f.doubles(name + ".loss")[0]).epsilon(1e-6));
    for (size_t i = 0; i < rows.size(); ++i) {
      copy(d_own.matrix().slice(i, 1), d.matrix().slice(rows[i], 1));
    }
    nn::unit_backward(unit.matrix(), lengths.matrix(), d.matrix(), dx.matrix());
    CHECK(error(dx.values, f.floats(name + ".dx")) < 1e-5);
  }
}

TEST_CASE("Dense and norm modules learn: the slopes are finite differences, however it is cut") {
  VectorTask task;
  task.loss.columns = 2;
  task.normalize = true;
  task.token_layers = {dense("1", 16, 12, Activation::gelu)};
  task.dense = {dense("2", 12, 12, Activation::tanh, true), norm("3", 12),
                dense("4", 12, 7, Activation::none, true)};
  check_slopes("st-mean", task, false);
}

TEST_CASE("vectors of tokens learn, of queries that are filled up, too") {
  VectorTask task;
  task.loss.columns = 2;
  task.loss.scale = 2;
  task.poolings.clear();
  task.longest = 13;
  task.normalize = true;
  task.dense = {dense("1", 16, 6, Activation::none)};
  task.dense[0].layer.bias = false;
  check_slopes("st-mean", task, false);
  check_slopes("st-mean", task, true);
  const std::vector<float> all = checked_gradient("st-mean", task, false, 2048);
  CHECK(error(checked_gradient("st-mean", task, true, 2048), all) > 1e-2);  // others attend
  task.loss.mean_of_tokens = true;
  check_slopes("st-mean", task, true);
}

}  // namespace bert::training
