#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "nn/rank_loss.h"
#include "training/rank_network.h"
#include "training_fixture.h"
#include "training_models.h"

namespace bert::training {
namespace {

using nn::RankLoss;
using test::error;
using test::Fixture;
using test::golden_model;

constexpr std::pair<const char*, RankLoss> kCases[] = {
    {"binary", RankLoss::binary}, {"squared", RankLoss::squared}, {"listnet", RankLoss::listnet},
    {"lambda", RankLoss::lambda}, {"margin", RankLoss::margin},   {"ranking", RankLoss::ranking},
};

HeadPlan head_of(const std::string& model) {
  HeadPlan head{Objective::classify, ModelDirectory(golden_model(model)).config(), ""};
  head.config.labels = {"score"};
  return head;
}

/// Three queries with three, one and four texts.
TrainingBatch pairs(const Config& config) {
  TrainingBatch batch;
  const int32_t queries[] = {0, 0, 0, 1, 2, 2, 2, 2};
  for (size_t s = 0; s < std::size(queries); ++s) {
    std::vector<int32_t> ids(3 + 5 * s % 17);
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int32_t>((5 + 7 * i + 11 * s) % config.vocab_size);
    }
    batch.batch.append(ids, std::vector<int32_t>(ids.size()));
    batch.values.push_back(static_cast<float>(s * 5 % 3) / 2);
    batch.sequence_labels.push_back(queries[s]);
  }
  return batch;
}

}  // namespace

TEST_CASE("losses of scores and their gradients are those of sentence-transformers") {
  const Fixture f("ranking");
  for (const auto& [name, loss] : kCases) {
    const std::string own = name;
    CAPTURE(own);
    const std::vector<float> scores = f.floats(own + ".scores"), labels = f.floats(own + ".labels");
    std::vector<float> d(scores.size());
    const std::vector<size_t> ends = f.sizes(own + ".ends");
    const double value = nn::rank_loss(loss, {scores, labels, ends}, d);
    CHECK(value == doctest::Approx(f.doubles(own + ".loss")[0]).epsilon(1e-6));
    CHECK(error(d, f.floats(own + ".dx")) < 1e-5);
  }
}

TEST_CASE("scores: the slope of each loss is that of finite differences, however it is cut") {
  for (const char* model : {"tiny-bert", "modernbert"}) {
    for (const auto& [name, loss] : kCases) {
      const std::string own = name;
      CAPTURE(own);
      for (const size_t tokens : {size_t{2048}, size_t{20}}) {
        LearnerOptions options;
        options.threads = 2;
        options.max_pass_tokens = tokens;
        options.optimizer.learning_rate = 0;
        Learner learner(std::make_unique<RankNetwork>(head_of(model), loss, false), options);
        const auto& network = static_cast<const RankNetwork&>(learner.network());
        draw_parameters(learner.layout(), 3, 0.2f, learner.values());
        const TrainingBatch batch = pairs(network.config());
        learner.step({&batch, 1});
        const std::vector<float> gradient(learner.gradient(),
                                          learner.gradient() + learner.layout().floats());
        for (const Parameter& p : learner.layout().parameters()) {
          if (p.depth == 0 || p.size < 100) continue;
          const size_t at = p.offset + p.size / 3;
          float& value = learner.values()[at];
          constexpr float kStep = 1e-2f;
          const float old = value;
          value = old + kStep;
          const double up = learner.step({&batch, 1}).loss;
          value = old - kStep;
          const double down = learner.step({&batch, 1}).loss;
          value = old;
          const double slope = (up - down) / (2 * static_cast<double>(kStep));
          CAPTURE(p.name);
          CHECK(slope ==
                doctest::Approx(static_cast<double>(gradient[at])).epsilon(0.05).scale(0.1));
        }
      }
    }
  }
}

}  // namespace bert::training
