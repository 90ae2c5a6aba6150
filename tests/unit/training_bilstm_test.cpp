#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "directory/model_directory.h"
#include "directory/weight_files.h"
#include "golden.h"
#include "heads/token_classification.h"
#include "model/head_tensors.h"
#include "temporary.h"
#include "training/bert_network.h"
#include "training/evaluation.h"
#include "training/saving.h"

namespace bert::training {
namespace {

using test::golden_model;

HeadPlan bilstm_plan(const std::string& layers) {
  HeadPlan plan;
  plan.objective = Objective::tokens;
  plan.config = ModelDirectory(golden_model("tiny-ner")).config();
  plan.config.bilstm = {layers, 5, 2};
  return plan;
}

/// A learner of tiny-ner's frozen trunk with a new BiLSTM.
std::unique_ptr<BertLearner> learner_of(const std::string& layers, int threads = 1) {
  LearnerOptions options;
  options.optimizer.learning_rate = 3e-2;
  options.optimizer.schedule = Schedule::constant;
  options.threads = threads;
  options.max_pass_tokens = 8;
  auto learner = std::make_unique<BertLearner>(std::vector{bilstm_plan(layers)}, options);
  const Weights weights = open_weights(golden_model("tiny-ner"), learner->config());
  load_parameters(learner->layout(), weights, 1, 0.1f, learner->values());
  for (Parameter& p : learner->layout().parameters()) {
    if (p.role != Role::bilstm && p.role != Role::bilstm_classifier) p.rate_scale = 0;
  }
  return learner;
}

TrainingBatch labelled() {
  TrainingBatch batch;
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{2, 7, 8, 9, 3}, {2, 5, 3}, {2, 9, 8, 7, 6, 5, 3}}) {
    batch.batch.append(ids, std::vector<int32_t>(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i) {
      batch.token_labels.push_back(ids[i] == 2 || ids[i] == 3 ? -100 : ids[i] % 3);
    }
  }
  return batch;
}

}  // namespace

TEST_CASE("a BiLSTM over frozen layers learns; what is saved is what was evaluated") {
  for (const char* layers : {"0", "-1", "-2", "sum:1--1", "mean:0,1", "concat:-2--1"}) {
    CAPTURE(layers);
    const auto learner = learner_of(layers);
    const TrainingBatch batch = labelled();
    const std::vector<float> before(learner->values(),
                                    learner->values() + learner->layout().floats());
    const double first = learner->step(batch).loss;
    // The first loss is that of the same parameters without dropout.
    const auto fresh = learner_of(layers);
    CHECK(Evaluation(*fresh).run(batch).loss() == doctest::Approx(first).epsilon(1e-5));
    for (int i = 0; i < 100; ++i) learner->step(batch);
    CHECK(Evaluation(*learner).run(batch).loss() < 0.5 * first);
    for (const Parameter& p : learner->layout().parameters()) {
      const auto at = static_cast<ptrdiff_t>(p.offset), end = at + static_cast<ptrdiff_t>(p.size);
      const bool same =
          std::equal(before.begin() + at, before.begin() + end, learner->values() + at);
      CHECK(same == (p.rate_scale == 0));
    }

    std::vector<float> evaluated, read;
    Evaluation(*learner).run(batch, [&](size_t, const PackedBatch&, ConstMatrix logits) {
      evaluated.insert(evaluated.end(), logits.data, logits.data + logits.rows * logits.cols);
    });
    const test::TemporaryDirectory directory;
    const HeadPlan& plan = learner->heads()[0];
    save_model(*learner, ModelFiles::make(golden_model("tiny-ner"), plan.config, plan.objective),
               directory.path());
    const Model model = Model::open(directory.path(), {}, {"", HeadKind::tokens});
    const TokenClassifier head = TokenClassifier::open(model);
    // One by one: a sequence has the same bits in any company.
    TokenScorer scorer(head);
    Workspace workspace;
    TrainingBatch one;
    for (size_t s = 0; s < batch.sequences(); ++s) {
      slice(batch, s, s + 1, one);
      const Matrix hidden = model.forward(one.batch, workspace, scorer.options());
      const Matrix logits = scorer.logits(one.batch, hidden, workspace);
      read.insert(read.end(), logits.data, logits.data + logits.rows * logits.cols);
    }
    std::vector<float> together;
    const Matrix hidden = model.forward(batch.batch, workspace, scorer.options());
    const Matrix logits = scorer.logits(batch.batch, hidden, workspace);
    together.assign(logits.data, logits.data + logits.rows * logits.cols);
    CHECK(read == together);
    REQUIRE(read.size() == evaluated.size());
    for (size_t i = 0; i < read.size(); ++i) {
      CHECK(read[i] == doctest::Approx(evaluated[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("config.json with a BiLSTM that cannot be is refused") {
  const auto parse = [](const std::string& net) {
    return Config::parse(R"({"model_type": "bert", "vocab_size": 9, "hidden_size": 4, )"
                         R"("num_hidden_layers": 2, "num_attention_heads": 2, )"
                         R"("intermediate_size": 8, "max_position_embeddings": 8, )"
                         R"("bertutils_bilstm": )" +
                             net + "}",
                         "config.json");
  };
  const Config good = parse(R"({"layers": "concat:1-2", "hidden_size": 3, "num_layers": 1})");
  CHECK(bilstm_tensors(good)[0].shape == std::vector<size_t>{12, 8});
  for (const char* bad : {R"(1)", R"({"layers": "3", "hidden_size": 3, "num_layers": 1})",
                          R"({"layers": "word", "hidden_size": 3, "num_layers": 1})",
                          R"({"layers": "-1", "hidden_size": 0, "num_layers": 1})",
                          R"({"layers": "-1", "hidden_size": 99999999999, "num_layers": 1})",
                          R"({"layers": "-1", "hidden_size": 3, "num_layers": -1})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse(bad), Error);
  }
}

}  // namespace bert::training
