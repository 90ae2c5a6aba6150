#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "capture.h"
#include "directory/model_directory.h"
#include "directory/weight_files.h"
#include "encoder/model.h"
#include "golden.h"
#include "heads/classification.h"
#include "heads/masked_lm.h"
#include "heads/pooling.h"
#include "nn/activation_gradient.h"
#include "nn/attention_gradient.h"
#include "nn/embedding_gradient.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "nn/loss.h"
#include "ops/dtype.h"
#include "temporary.h"
#include "trainers/held_out.h"
#include "trainers/nsp_pairs.h"
#include "training/bert_network.h"
#include "training/evaluation.h"
#include "training/saving.h"
#include "training_fixture.h"
#include "training_models.h"

namespace bert::training {
namespace {

using test::batch_of;
using test::Data;
using test::error;
using test::Fixture;
using test::golden_model;
using test::learner_of;

constexpr double kLayerTolerance = 2e-6;

}  // namespace

TEST_CASE("a model of a family that is not trained is refused by name") {
  std::vector<HeadPlan> heads(1);
  heads[0].config = ModelDirectory(golden_model("dpr-question")).config();
  CHECK_THROWS_WITH_AS(bert_layout(heads[0].config, heads), doctest::Contains("dpr"), Error);
  heads[0].config = ModelDirectory(golden_model("qwen3-classifier")).config();
  heads[0].objective = Objective::masked_lm;
  CHECK_THROWS_WITH_AS(bert_layout(heads[0].config, heads), doctest::Contains("qwen3"), Error);
}

TEST_CASE("linear: forward and backward equal autograd") {
  const Fixture f("layers");
  Data x(f, "linear.x"), w(f, "linear.w"), b(f, "linear.b"), dy(f, "linear.dy");
  Data y(dy.rows, dy.cols), dx(x.rows, x.cols), dw(w.rows, w.cols), db(1, b.cols);
  const nn::LinearWeights weights{w.matrix(), b.values.data()},
      gradient{dw.matrix(), db.values.data()};
  nn::linear_forward(weights, x.matrix(), y.matrix());
  nn::linear_backward(weights, x.matrix(), dy.matrix(), gradient, dx.matrix());
  CHECK(error(y.values, f.floats("linear.y")) < kLayerTolerance);
  CHECK(error(dx.values, f.floats("linear.dx")) < kLayerTolerance);
  CHECK(error(dw.values, f.floats("linear.dw")) < kLayerTolerance);
  CHECK(error(db.values, f.floats("linear.db")) < kLayerTolerance);

  SUBCASE("gradients are added to, a frozen layer's are not touched") {
    nn::linear_backward(weights, x.matrix(), dy.matrix(), gradient, dx.matrix(), true);
    std::vector<float> twice = f.floats("linear.dw"), twice_x = f.floats("linear.dx");
    for (float& v : twice) v *= 2;
    for (float& v : twice_x) v *= 2;
    CHECK(error(dw.values, twice) < kLayerTolerance);
    CHECK(error(dx.values, twice_x) < kLayerTolerance);
    nn::linear_backward(weights, x.matrix(), dy.matrix(), {}, dx.matrix());
    CHECK(error(dw.values, twice) < kLayerTolerance);
  }
}

TEST_CASE("linear in bfloat16 is the product of rounded operands") {
  if (!nn::Bf16Products::available()) return;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  // Numbers that bfloat16 holds, so that only the order of the sums differs.
  const auto draw = [&](size_t rows, size_t cols) {
    Data data(rows, cols);
    for (float& v : data.values) {
      v = normal(random);
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      bits &= 0xFFFF0000u;
      std::memcpy(&v, &bits, 4);
    }
    return data;
  };
  for (const auto& [t, k, n] : {std::tuple<size_t, size_t, size_t>(37, 21, 50),
                                {130, 96, 33},
                                {1, 1, 1},
                                {16, 64, 48},
                                {700, 40, 17}}) {
    CAPTURE_BINDING(t);
    Data x = draw(t, k), w = draw(n, k), b = draw(1, n), dy = draw(t, n);
    const nn::LinearWeights weights{w.matrix(), b.values.data()};
    nn::Bf16Products bf16;
    std::vector<std::vector<float>> results[2];
    for (const bool rounded : {false, true}) {
      Data y(t, n), dx = x, dw(n, k), db(1, n);
      const nn::LinearWeights gradient{dw.matrix(), db.values.data()};
      nn::linear_forward(weights, x.matrix(), y.matrix(), rounded ? &bf16 : nullptr);
      nn::linear_backward(weights, x.matrix(), dy.matrix(), gradient, dx.matrix(), true,
                          rounded ? &bf16 : nullptr);
      results[rounded] = {y.values, dx.values, dw.values, db.values};
    }
    for (size_t i = 0; i < 4; ++i) CHECK(error(results[1][i], results[0][i]) < 1e-5);
  }
}

TEST_CASE("layer norm: forward and backward equal autograd") {
  const Fixture f("layers");
  Data x(f, "norm.x"), w(f, "norm.w"), b(f, "norm.b"), dy(f, "norm.dy");
  Data y(x.rows, x.cols), statistics(x.rows, 2), dw(1, x.cols), db(1, x.cols);
  const nn::NormWeights weights{w.values.data(), b.values.data()},
      gradient{dw.values.data(), db.values.data()};
  nn::layer_norm_forward(weights, 1e-5f, x.matrix(), y.matrix(), statistics.matrix());
  nn::layer_norm_backward(weights, x.matrix(), statistics.matrix(), dy.matrix(), gradient,
                          dy.matrix());
  CHECK(error(y.values, f.floats("norm.y")) < kLayerTolerance);
  CHECK(error(dy.values, f.floats("norm.dx")) < kLayerTolerance);
  CHECK(error(dw.values, f.floats("norm.dw")) < kLayerTolerance);
  CHECK(error(db.values, f.floats("norm.db")) < kLayerTolerance);
}

TEST_CASE("embedding: forward and backward equal autograd, padding has no gradient") {
  const Fixture f("layers");
  Data w(f, "embedding.w"), dy(f, "embedding.dy"), y(dy.rows, dy.cols), dw(w.rows, w.cols);
  const std::vector<int32_t> ids = f.ints("embedding.ids");
  nn::embedding_forward(w.matrix(), ids, y.matrix());
  nn::embedding_backward(ids, dy.matrix(), dw.matrix(), 0);
  CHECK(error(y.values, f.floats("embedding.y")) < kLayerTolerance);
  CHECK(error(dw.values, f.floats("embedding.dw")) < kLayerTolerance);
}

TEST_CASE("attention: self, causal and cross equal autograd over packed sequences") {
  const Fixture f("layers");
  for (const std::string name : {"self", "causal", "cross"}) {
    CAPTURE(name);
    Data q(f, name + ".q"), k(f, name + ".k"), v(f, name + ".v"), dy(f, name + ".dy");
    const std::vector<size_t> cu_q = f.sizes(name + ".cu_q"), cu_k = f.sizes(name + ".cu_k");
    const nn::AttentionPlan plan{cu_q, cu_k, 3, name == "causal", {}};
    Data y(q.rows, q.cols), log_sums(3, q.rows);
    Data dq(q.rows, q.cols), dk(k.rows, k.cols), dv(v.rows, v.cols);
    nn::AttentionBuffers buffers;
    nn::attention_forward(plan, q.matrix(), k.matrix(), v.matrix(), y.matrix(), log_sums.matrix(),
                          buffers);
    nn::attention_backward(plan, q.matrix(), k.matrix(), v.matrix(), y.matrix(), log_sums.matrix(),
                           dy.matrix(), dq.matrix(), dk.matrix(), dv.matrix(), buffers);
    CHECK(error(y.values, f.floats(name + ".y")) < kLayerTolerance);
    CHECK(error(dq.values, f.floats(name + ".dq")) < kLayerTolerance);
    CHECK(error(dk.values, f.floats(name + ".dk")) < kLayerTolerance);
    CHECK(error(dv.values, f.floats(name + ".dv")) < kLayerTolerance);
  }
}

TEST_CASE("attention with a bias by distance equals autograd, the bias's gradient too") {
  const Fixture f("position-bias");
  Data q(f, "bias.q"), k(f, "bias.k"), v(f, "bias.v"), dy(f, "bias.dy"), bias(f, "bias.bias");
  const std::vector<size_t> cu = f.sizes("bias.cu");
  nn::AttentionPlan plan{cu, cu, 3, false, {}};
  plan.bias = bias.matrix();
  Data y(q.rows, q.cols), log_sums(3, q.rows), d_bias(bias.rows, bias.cols);
  Data dq(q.rows, q.cols), dk(k.rows, k.cols), dv(v.rows, v.cols);
  nn::AttentionBuffers buffers;
  nn::attention_forward(plan, q.matrix(), k.matrix(), v.matrix(), y.matrix(), log_sums.matrix(),
                        buffers);
  nn::attention_backward(plan, q.matrix(), k.matrix(), v.matrix(), y.matrix(), log_sums.matrix(),
                         dy.matrix(), dq.matrix(), dk.matrix(), dv.matrix(), buffers,
                         d_bias.matrix());
  CHECK(error(y.values, f.floats("bias.y")) < kLayerTolerance);
  CHECK(error(dq.values, f.floats("bias.dq")) < kLayerTolerance);
  CHECK(error(dk.values, f.floats("bias.dk")) < kLayerTolerance);
  CHECK(error(dv.values, f.floats("bias.dv")) < kLayerTolerance);
  CHECK(error(d_bias.values, f.floats("bias.dbias")) < kLayerTolerance);
}

TEST_CASE("activations: forward and backward equal autograd") {
  const Fixture f("layers");
  const std::pair<const char*, Activation> kAll[] = {
      {"gelu", Activation::gelu},       {"gelu_tanh", Activation::gelu_tanh},
      {"relu", Activation::relu},       {"gelu_quick", Activation::gelu_quick},
      {"silu", Activation::silu},       {"tanh", Activation::tanh},
      {"sigmoid", Activation::sigmoid},
  };
  for (const auto& [short_name, act] : kAll) {
    const std::string name = std::string("act.") + short_name;
    CAPTURE(name);
    Data x(f, name + ".x"), dy(f, name + ".dy"), y(1, x.cols);
    nn::activation_forward(act, x.matrix(), y.matrix());
    nn::activation_backward(act, x.matrix(), dy.matrix());
    CHECK(error(y.values, f.floats(name + ".y")) < kLayerTolerance);
    CHECK(error(dy.values, f.floats(name + ".dx")) < 2 * kLayerTolerance);  // of polynomials
  }
}

TEST_CASE("losses and their gradients equal PyTorch's") {
  const Fixture f("layers");
  const std::vector<int32_t> labels = f.ints("entropy.labels");
  for (const std::string name : {"entropy", "weighted"}) {
    CAPTURE(name);
    Data x(f, name + ".x");
    std::vector<float> weights;
    if (name == "weighted") weights = f.floats("weighted.weights");
    const double loss = nn::cross_entropy(x.matrix(), labels, weights, 1.f);
    CHECK(loss == doctest::Approx(f.doubles(name + ".loss")[0]).epsilon(1e-6));
    CHECK(error(x.values, f.floats(name + ".dx")) < kLayerTolerance);
  }
  Data x(f, "binary.x"), targets(f, "binary.targets");
  CHECK(nn::binary_cross_entropy(x.matrix(), targets.matrix(), 1.f) ==
        doctest::Approx(f.doubles("binary.loss")[0]).epsilon(1e-6));
  CHECK(error(x.values, f.floats("binary.dx")) < kLayerTolerance);
  Data y(f, "squared.x"), wanted(f, "squared.targets");
  CHECK(nn::squared_error(y.matrix(), wanted.matrix(), 1.f) ==
        doctest::Approx(f.doubles("squared.loss")[0]).epsilon(1e-6));
  CHECK(error(y.values, f.floats("squared.dx")) < kLayerTolerance);
}

TEST_CASE("dropout: the rate, the scale, and one mask on both ways") {
  nn::Dropout drop{0.25f, 77, 0};
  Data x(100, 100);
  std::fill(x.values.begin(), x.values.end(), 1.f);
  dropout(drop, x.matrix());
  size_t dropped = 0;
  for (const float v : x.values) {
    dropped += v == 0.f;
    CHECK((v == 0.f || v == doctest::Approx(4. / 3)));
  }
  CHECK(std::abs(static_cast<double>(dropped) - 2500) < 3 * std::sqrt(10000 * .25 * .75));
  Data later(40, 100);  // rows 60 .. 99 of the same
  std::fill(later.values.begin(), later.values.end(), 1.f);
  drop.row_0 = 60;
  dropout(drop, later.matrix());
  CHECK(std::equal(later.values.begin(), later.values.end(), x.values.begin() + 6000));
}

namespace {

struct Case {
  const char* model;
  Objective objective;
};
constexpr Case kModels[] = {
    {"tiny-bert", Objective::pretrain},
    {"tiny-classifier", Objective::classify},
    {"tiny-multilabel", Objective::classify},
    {"tiny-regression", Objective::classify},
    {"tiny-ner", Objective::tokens},
    {"tiny-qa", Objective::spans},
    {"electra-mlm", Objective::masked_lm},
    {"distilbert-mlm", Objective::masked_lm},
    {"untied", Objective::masked_lm},
    {"electra-classifier", Objective::classify},
    {"odd", Objective::masked_lm},
    {"act-gelu_new", Objective::masked_lm},
    {"roberta-mlm", Objective::masked_lm},
    {"mpnet-mlm", Objective::masked_lm},
};

}  // namespace

TEST_CASE("every gradient of whole models equals autograd's within 1e-4") {
  for (const Case& c : kModels) {
    for (const int threads : {1, 3}) {
      CAPTURE(std::string(c.model));
      CAPTURE(threads);
      const Fixture f(std::string("gradients-") + c.model);
      LearnerOptions options;
      options.threads = threads;
      options.optimizer.learning_rate = 0;
      const auto learner = learner_of(c.model, c.objective, options);
      const StepResult result = learner->step(batch_of(f, c.objective, learner->config(), 0));
      CHECK(result.tally.loss() == doctest::Approx(f.doubles("loss")[0]).epsilon(1e-5));
      const Weights weights = open_weights(golden_model(c.model), learner->config());
      size_t compared = 0;
      for (const std::string& name : f.names("grad.")) {
        CAPTURE(name);
        TensorView view;
        view.name = name;
        // Untied, the decoder has the bias that the tied head keeps beside it.
        const bool own_bias = name == "cls.predictions.decoder.bias";
        const Parameter* p =
            learner->layout().find(own_bias ? "cls.predictions.bias" : weights.canonical(view));
        REQUIRE(p != nullptr);
        std::vector<float> found;
        for (size_t i = 0; i<p->size; i += p->size> 256 ? 3 : 1) {
          found.push_back(learner->gradient()[p->offset + i]);
        }
        const std::vector<float> expected = f.floats("grad." + name);
        float largest = 0;
        for (const float v : expected) largest = std::max(largest, std::abs(v));
        // A key's bias has no gradient at all: softmax does not see it.
        if (largest > 1e-6f) CHECK(error(found, expected) < 1e-4);
        ++compared;
      }
      CHECK(compared >= learner->layout().parameters().size());
    }
  }
}

TEST_CASE("DistilBERT's answers: dropout before their head, one mask on both ways") {
  LearnerOptions options;
  options.optimizer.learning_rate = 0;
  const auto learner = learner_of("distilbert-qa", Objective::spans, options, 0.3f);
  TrainingBatch batch;
  const std::vector<int32_t> ids{2, 30, 31, 3, 40, 41, 42, 3}, types{0, 0, 0, 0, 1, 1, 1, 1};
  batch.batch.append(ids, types);
  batch.starts = {4};
  batch.ends = {6};
  const auto loss = [&] {
    learner->set_steps(0);  // the same masks
    return learner->step(batch).loss;
  };
  loss();
  const std::vector<float> gradient(learner->gradient(),
                                    learner->gradient() + learner->layout().floats());
  for (const char* name : {"qa_outputs.weight", "encoder.layer.0.output.dense.weight"}) {
    CAPTURE(std::string(name));
    const Parameter* p = learner->layout().find(name);
    REQUIRE(p != nullptr);
    const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(p->offset);
    const auto largest =
        std::max_element(first, first + static_cast<std::ptrdiff_t>(p->size),
                         [](float a, float b) { return std::abs(a) < std::abs(b); });
    float& value = learner->values()[largest - gradient.begin()];
    constexpr float kStep = 1e-2f;
    const float old = value;
    value = old + kStep;
    const double up = loss();
    value = old - kStep;
    const double down = loss();
    value = old;
    const double slope = (up - down) / (2 * static_cast<double>(kStep));
    CHECK(slope == doctest::Approx(static_cast<double>(*largest)).epsilon(0.02));
  }
}

TEST_CASE("MPNet's bias by distance: the gradients of all layers add up") {
  HeadPlan head{Objective::classify, ModelDirectory(golden_model("mpnet")).config(), ""};
  REQUIRE(head.config.num_hidden_layers == 2);
  head.config.labels = {"a", "b"};
  const Weights weights = open_weights(golden_model("mpnet"), head.config);
  LearnerOptions options;
  options.optimizer.learning_rate = 0;
  BertLearner learner({head}, options);
  load_parameters(learner.layout(), weights, 1, 0.3f, learner.values());
  TrainingBatch batch;
  std::vector<int32_t> ids(40);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(5 + 7 * i % 90);
  const std::vector<int32_t> types(ids.size());
  batch.batch.append(ids, types);
  batch.batch.append(std::span(ids).subspan(3, 3), std::span(types).subspan(0, 3));
  batch.sequence_labels = {0, 1};
  learner.step(batch);
  const Parameter* table = learner.layout().find("encoder.relative_attention_bias.weight");
  REQUIRE(table != nullptr);
  CHECK(!table->decays);
  const std::vector<float> gradient(learner.gradient() + table->offset,
                                    learner.gradient() + table->offset + table->size);
  double largest = 0;
  for (size_t i = 0; i < table->size; i += 5) {  // 5 divides no row
    CAPTURE(i);
    float& value = learner.values()[table->offset + i];
    constexpr float kStep = 1e-2f;
    const float old = value;
    value = old + kStep;
    const double up = learner.step(batch).loss;
    value = old - kStep;
    const double down = learner.step(batch).loss;
    value = old;
    const double slope = (up - down) / (2 * static_cast<double>(kStep));
    CHECK(slope == doctest::Approx(static_cast<double>(gradient[i])).epsilon(0.02).scale(1e-3));
    largest = std::max(largest, std::abs(slope));
  }
  CHECK(largest > 1e-2);
}

TEST_CASE("the losses of 100 AdamW steps equal PyTorch's within 1e-3") {
  for (const auto& [model, objective] :
       {Case{"tiny-bert", Objective::pretrain}, Case{"tiny-classifier", Objective::classify},
        Case{"roberta-classifier", Objective::classify}, Case{"camembert-ner", Objective::tokens},
        Case{"xlm-roberta-qa", Objective::spans}, Case{"mpnet-classifier", Objective::classify}}) {
    CAPTURE_BINDING(std::string(model));
    const Fixture f(std::string("steps-") + model);
    LearnerOptions options;
    options.threads = 2;
    options.optimizer.learning_rate = 1e-3;
    options.optimizer.warmup_steps = 10;
    options.optimizer.total_steps = 100;
    const auto learner = learner_of(model, objective, options);
    const std::vector<double> losses = f.doubles("losses"), norms = f.doubles("norms");
    double worst = 0;
    for (size_t step = 0; step < losses.size(); ++step) {
      const StepResult result = learner->step(batch_of(f, objective, learner->config(), step % 10));
      worst = std::max(worst, std::abs(result.tally.loss() - losses[step]) / losses[step]);
      if (step == 0) CHECK(result.gradient_norm == doctest::Approx(norms[0]).epsilon(1e-4));
    }
    CHECK(worst < 1e-3);
    MESSAGE(std::string(model) << ": worst relative difference of the loss " << worst);
  }
}

TEST_CASE("training's forward pass is the model's, and evaluation is the model") {
  const Model model = Model::open(golden_model("tiny-classifier"));
  const Classifier classifier = Classifier::open(model);
  const auto learner = learner_of("tiny-classifier", Objective::classify, {});
  const Fixture f("gradients-tiny-classifier");
  const TrainingBatch batch = batch_of(f, Objective::classify, learner->config(), 0);
  const ModelWeights weights =
      ModelWeights::view(learner->layout(), learner->config(), learner->values());
  Encoder encoder(learner->config(), weights);
  Workspace workspace;
  const Matrix hidden = model.forward(batch.batch, workspace);
  const ConstMatrix learned = encoder.forward(batch.batch, {});
  for (size_t i = 0; i < hidden.rows * hidden.cols; ++i) {
    CHECK(std::abs(hidden.data[i] - learned.data[i]) < 1e-5f);
  }
  const Matrix logits = classifier.logits(batch.batch, hidden, workspace);
  size_t seen = 0;
  const Tally tally = Evaluation(*learner).run(
      batch, [&](size_t first, const PackedBatch& part, ConstMatrix found) {
        for (size_t s = 0; s < part.sequences(); ++s, ++seen) {
          for (size_t c = 0; c < found.cols; ++c) {
            CHECK(found.row(s)[c] == logits.row(first + s)[c]);
          }
        }
      });
  CHECK(seen == batch.sequences());
  CHECK(tally.loss() == doctest::Approx(f.doubles("loss")[0]).epsilon(1e-5));
}

namespace {

/// The parameters after some steps with dropout.
std::vector<float> trained(LearnerOptions options) {
  options.optimizer.learning_rate = 1e-3;
  options.optimizer.schedule = Schedule::constant;
  const auto learner = learner_of("tiny-bert", Objective::pretrain, options, 0.1f);
  const Fixture f("steps-tiny-bert");
  for (size_t step = 0; step < 5; ++step) {
    learner->step(batch_of(f, Objective::pretrain, learner->config(), step));
  }
  return {learner->values(), learner->values() + learner->layout().floats()};
}

}  // namespace

TEST_CASE("steps have the same bits for any number of threads, and the same masks for any passes") {
  LearnerOptions options;
  const std::vector<float> once = trained(options);
  for (const int threads : {2, 3, 8}) {
    options.threads = threads;
    CHECK(once == trained(options));
  }
  options.seed = 2;
  CHECK(once != trained(options));
  options.seed = 1;
  options.max_pass_tokens = 20;
  const std::vector<float> other = trained(options);
  double difference = 0;
  for (size_t i = 0; i < once.size(); ++i) {
    difference += std::abs(static_cast<double>(once[i]) - other[i]);
  }
  // Not the largest: where a gradient is 0 but for rounding, Adam makes a whole step of it.
  CHECK(difference / static_cast<double>(once.size()) < 2e-5);
}

namespace {

/// Whether `found`, the gradient of half the loss by x, is the slope of the loss.
template <typename Loss>
void check_slopes(Data& x, const Data& found, const Loss& loss) {
  for (size_t i = 0; i<x.values.size(); i += x.values.size()> 30 ? 7 : 1) {
    const float old = x.values[i], step = 0.01f;
    x.values[i] = old + step;
    const double up = loss();
    x.values[i] = old - step;
    const double down = loss();
    x.values[i] = old;
    const double slope = 0.5 * (up - down) / (2 * static_cast<double>(step));
    CHECK(static_cast<double>(found.values[i]) == doctest::Approx(slope).epsilon(5e-3).scale(0.01));
  }
}

}  // namespace

TEST_CASE("vectors: the loss is one minus the cosine, its slope that of finite differences") {
  HeadPlan plan{Objective::vectors, ModelDirectory(golden_model("tiny-bert")).config(), ""};
  const size_t h = plan.config.hidden_size;
  const ModelWeights none;
  const std::unique_ptr<Head> head = Head::make(plan, none);
  TrainingBatch batch;
  batch.batch.append(std::vector<int32_t>{2, 5, 3}, std::vector<int32_t>{0, 0, 0});
  batch.batch.append(std::vector<int32_t>{2, 3}, std::vector<int32_t>{0, 0});
  Data hidden(5, h), d_hidden(5, h);
  for (size_t i = 0; i < 5 * h; ++i) hidden.values[i] = std::sin(static_cast<float>(3 * i + 1));
  for (size_t s = 0; s < 2; ++s) {
    std::vector<float> unit(h);
    for (size_t i = 0; i < h; ++i) unit[i] = std::cos(static_cast<float>(i * (s + 2)));
    normalize_l2(unit);
    batch.values.insert(batch.values.end(), unit.begin(), unit.end());
  }
  const auto loss = [&] { return head->learn({batch, hidden.matrix()}).sequence_loss; };
  double expected = 0;
  for (size_t s = 0; s < 2; ++s) {
    std::vector<float> mean(h);
    pool(Pooling::mean, hidden.matrix().slice(batch.batch.begin(s), batch.batch.length(s)), mean);
    expected += 1 - cosine(mean, std::span(batch.values).subspan(s * h, h));
  }
  CHECK(loss() == doctest::Approx(expected).epsilon(1e-6));
  head->learn({batch, hidden.matrix(), {1, 0.5f}, {}, &none, d_hidden.matrix()});
  check_slopes(hidden, d_hidden, loss);
}

TEST_CASE(
    "attentive pooling to length 1 under a classifier: the slope is that of finite differences") {
  HeadPlan plan{Objective::classify, ModelDirectory(golden_model("tiny-classifier")).config(), ""};
  plan.config.pooling = {2, 3, true};
  const size_t h = plan.config.hidden_size, labels = plan.config.labels.size();
  const auto numbers = [](size_t rows, size_t cols, float by) {
    Data data(rows, cols);
    for (size_t i = 0; i < rows * cols; ++i)
      data.values[i] = std::sin(by * static_cast<float>(i + 1));
    return data;
  };
  Data first = numbers(3, h, 2.3f), hops = numbers(2, 3, 1.7f), last = numbers(labels, 2 * h, 0.9f);
  Data d_first(3, h), d_hops(2, 3), d_last(labels, 2 * h), bias(1, labels), d_bias(1, labels);
  ModelWeights weights, gradient;
  weights.pooling_hidden.weight = first.matrix();
  weights.pooling_hops.weight = hops.matrix();
  weights.classifier = {last.matrix(), bias.values.data()};
  gradient.pooling_hidden.weight = d_first.matrix();
  gradient.pooling_hops.weight = d_hops.matrix();
  gradient.classifier = {d_last.matrix(), d_bias.values.data()};
  const std::unique_ptr<Head> head = Head::make(plan, weights);
  TrainingBatch batch;
  batch.batch.append(std::vector<int32_t>{2, 5, 3}, std::vector<int32_t>{0, 0, 0});
  batch.batch.append(std::vector<int32_t>{2, 3}, std::vector<int32_t>{0, 0});
  batch.sequence_labels = {1, 0};
  Data hidden = numbers(5, h, 3.1f), d_hidden(5, h);
  const auto loss = [&] { return head->learn({batch, hidden.matrix()}).sequence_loss; };
  head->learn({batch, hidden.matrix(), {1, 0.5f}, {}, &gradient, d_hidden.matrix()});
  check_slopes(hidden, d_hidden, loss);
  check_slopes(first, d_first, loss);
  check_slopes(hops, d_hops, loss);
  check_slopes(last, d_last, loss);
}

TEST_CASE("a step of several heads adds their weighted gradients") {
  const std::string directory = golden_model("tiny-bert");
  const Config config = ModelDirectory(directory).config();
  const Weights weights = open_weights(directory, config);
  HeadPlan pretrain{Objective::pretrain, config, ""};
  HeadPlan mood{Objective::classify, config, "mood"};
  pretrain.weight = 0.5f;
  mood.config.labels = {"a", "b"};
  mood.weight = 3;
  const Fixture f("steps-tiny-bert");
  TrainingBatch text = batch_of(f, Objective::pretrain, config, 0), moods = text;
  moods.head = 1;
  moods.token_labels.clear();
  LearnerOptions options;
  options.threads = 2;
  options.optimizer.max_grad_norm = 0;
  const auto gradient = [&](std::vector<TrainingBatch> batches) {
    BertLearner learner({pretrain, mood}, options);
    load_parameters(learner.layout(), weights, 1, 0.02f, learner.values());
    CHECK(learner.layout().find("heads.mood.classifier.weight"));
    CHECK(learner.layout().find("heads.mood.pooler.dense.weight"));
    CHECK(learner.layout().find("pooler.dense.weight"));
    const StepResult result = learner.step(batches);
    return std::pair(
        std::vector<float>(learner.gradient(), learner.gradient() + learner.layout().floats()),
        result.loss);
  };
  const auto [both, loss] = gradient({text, moods});
  const auto [first, first_loss] = gradient({text});
  const auto [second, second_loss] = gradient({moods});
  CHECK(loss == doctest::Approx(first_loss + second_loss));
  double worst = 0, largest = 0;
  for (size_t i = 0; i < both.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(both[i] - first[i] - second[i])));
    largest = std::max(largest, std::abs(static_cast<double>(both[i])));
  }
  CHECK(worst < 1e-5 * largest);
}

TEST_CASE("frozen tensors stay, the others move") {
  const auto learner = learner_of("tiny-classifier", Objective::classify, {});
  for (Parameter& p : learner->layout().parameters()) p.rate_scale = p.depth <= 1 ? 0.f : 1.f;
  const std::vector<float> before(learner->values(),
                                  learner->values() + learner->layout().floats());
  const Fixture f("steps-tiny-classifier");
  learner->step(batch_of(f, Objective::classify, learner->config(), 0));
  for (const Parameter& p : learner->layout().parameters()) {
    CAPTURE(p.name);
    const bool same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(p.offset),
                                 before.begin() + static_cast<std::ptrdiff_t>(p.offset + p.size),
                                 learner->values() + p.offset);
    CHECK(same == (p.depth <= 1));
  }
}

TEST_CASE("a loss that is no number is refused, naming the step, and nothing moves") {
  const auto learner = learner_of("tiny-classifier", Objective::classify, {});
  learner->values()[learner->layout().find("classifier.bias")->offset] = NAN;
  const std::vector<float> before(learner->values(), learner->values() + 1000);
  const Fixture f("steps-tiny-classifier");
  CHECK_THROWS_WITH_AS(learner->step(batch_of(f, Objective::classify, learner->config(), 0)),
                       doctest::Contains("step 1"), Error);
  CHECK(std::equal(before.begin(), before.end(), learner->values()));
}

TEST_CASE("a decoder of its own is saved with its bias under the names of the family") {
  HeadPlan head{Objective::masked_lm, ModelDirectory(golden_model("roberta-mlm")).config(), ""};
  head.config.tie_word_embeddings = false;
  const Config config = head.config;
  BertLearner learner({std::move(head)}, {});
  draw_parameters(learner.layout(), 1, 0.02f, learner.values());
  const test::TemporaryDirectory directory;
  save_model(learner, {}, directory.path());
  const MappedFile file = MappedFile::open(directory.path() + "/model.safetensors");
  std::set<std::string> names;
  for (const SafetensorsEntry& e : read_safetensors(file.bytes(), "")) names.insert(e.name);
  for (const char* name :
       {"lm_head.decoder.weight", "lm_head.decoder.bias", "lm_head.bias", "lm_head.dense.weight",
        "lm_head.layer_norm.bias", "roberta.encoder.layer.1.attention.self.query.weight"}) {
    CAPTURE(std::string(name));
    CHECK(names.contains(name));
  }
  CHECK(names.size() == learner.layout().parameters().size() + 1);
}

TEST_CASE("the learning rate rises, then falls to 0") {
  OptimizerOptions o;
  o.warmup_steps = 10;
  o.total_steps = 110;
  CHECK(schedule_factor(o, 0) == 0);
  CHECK(schedule_factor(o, 5) == doctest::Approx(0.5));
  CHECK(schedule_factor(o, 10) == 1);
  CHECK(schedule_factor(o, 60) == doctest::Approx(0.5));
  CHECK(schedule_factor(o, 110) == 0);
  o.schedule = Schedule::cosine;
  CHECK(schedule_factor(o, 60) == doctest::Approx(0.5));
  o.schedule = Schedule::constant;
  CHECK(schedule_factor(o, 1000) == 1);
}

TEST_CASE("pairs of sentences: positives are neighbours, negatives never") {
  std::vector<DocumentReader::Document> texts;
  std::vector<std::vector<uint32_t>> lengths;
  for (int d = 0; d < 20; ++d) {
    texts.emplace_back();
    lengths.emplace_back();
    for (int s = 0; s < 50; ++s) {
      texts.back().push_back(std::to_string(d) + "." + std::to_string(s));
      lengths.back().push_back(static_cast<uint32_t>(1 + (d * 7 + s * 5) % 9));
    }
  }
  double next = 0;
  const std::vector<SegmentPair> pairs = make_pairs(lengths, texts, 16, true, 5);
  for (const SegmentPair& pair : pairs) {
    CHECK(pair.begin_a < pair.end_a);
    CHECK(pair.begin_b < pair.end_b);
    CHECK(pair.end_b <= texts[pair.document_b].size());
    const bool adjacent = pair.document_a == pair.document_b && pair.begin_b == pair.end_a;
    CHECK(adjacent == pair.is_next);
    next += pair.is_next;
  }
  const auto count = static_cast<double>(pairs.size());
  CHECK(count > 200);
  CHECK(std::abs(next - count / 2) < 3 * std::sqrt(count) / 2);
}

}  // namespace bert::training

TEST_CASE("a share is held out of each stratum, whatever the order") {
  std::vector<uint64_t> keys;
  std::vector<int32_t> strata;
  for (uint64_t i = 0; i < 1000; ++i) {
    keys.push_back(bert::mix(7, i / 2));  // pairs of one key
    strata.push_back(i < 100 ? 1 : 2);
  }
  keys.push_back(5), strata.push_back(3);  // alone in its stratum
  const std::vector<bool> out = bert::held_out(keys, strata, 0.1, 1);
  CHECK(std::count(out.begin(), out.begin() + 100, true) == 10);
  CHECK(std::count(out.begin(), out.end(), true) == 100);
  CHECK(!out.back());
  for (size_t i = 0; i < 1000; i += 2) CHECK(out[i] == out[i + 1]);
  std::reverse(keys.begin(), keys.end());
  std::reverse(strata.begin(), strata.end());
  std::vector<bool> turned = bert::held_out(keys, strata, 0.1, 1);
  std::reverse(turned.begin(), turned.end());
  CHECK(turned == out);
}
