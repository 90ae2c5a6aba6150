#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "directory/model_directory.h"
#include "seq2seq/decoder.h"
#include "temporary.h"
#include "training/learner.h"
#include "training/saving.h"
#include "training/transformer_network.h"
#include "training_fixture.h"

namespace bert::training {
namespace {

using test::error;
using test::Fixture;
using test::TemporaryDirectory;

/// A fixture of make_seq2seq.py with its config.json in a directory.
struct Marian {
  explicit Marian(const std::string& name) : fixture("seq2seq-" + name) {
    json = fixture.text("config");
    directory.add("config.json", json);
    plan.config = ModelDirectory(directory.path()).seq2seq_config();
    plan.target.start = plan.config.decoder.pad_token_id;
  }

  std::unique_ptr<Learner> learner(LearnerOptions options = {}) const {
    options.optimizer.learning_rate = 0;
    auto made = std::make_unique<Learner>(std::make_unique<TransformerNetwork>(plan), options);
    for (const Parameter& p : made->layout().parameters()) {
      const std::vector<float> values = fixture.floats("value." + p.name);
      REQUIRE(values.size() == p.size);
      std::copy(values.begin(), values.end(), made->values() + p.offset);
    }
    return made;
  }
  TrainingBatch batch() const {
    TrainingBatch batch;
    fill("sources", "cu_sources", batch.batch);
    fill("targets", "cu_targets", batch.target);
    return batch;
  }

  Fixture fixture;
  TemporaryDirectory directory;
  std::string json;
  TransformerPlan plan;

 private:
  void fill(const char* ids, const char* cu, PackedBatch& to) const {
    const std::vector<int32_t> all = fixture.ints(ids);
    const std::vector<size_t> ends = fixture.sizes(cu);
    for (size_t s = 0; s + 1 < ends.size(); ++s) {
      const size_t n = ends[s + 1] - ends[s];
      to.append(std::span(all).subspan(ends[s], n), std::vector<int32_t>(n));
    }
  }
};

/// -log softmax(logits)[id]
double loss_of(ConstMatrix logits, size_t row, int32_t id) {
  double sum = 0;
  for (size_t c = 0; c < logits.cols; ++c) sum += std::exp(static_cast<double>(logits.row(row)[c]));
  return std::log(sum) - static_cast<double>(logits.row(row)[id]);
}

}  // namespace

TEST_CASE("an encoder-decoder Transformer: loss and gradients equal autograd's") {
  for (const char* name : {"shared", "separate"}) {
    CAPTURE(std::string(name));
    Marian marian(name);
    marian.plan.target.label_smoothing = 0.1f;
    const Fixture& f = marian.fixture;
    const auto learner = marian.learner();
    const TrainingBatch batch = marian.batch();
    const StepResult result = learner->step(batch);
    CHECK(result.tally.loss() == doctest::Approx(f.doubles("loss")[0]).epsilon(1e-6));
    CHECK(result.tally.tokens == 19);
    const Tally plain = learner->evaluate(batch);
    CHECK(plain.loss() == doctest::Approx(f.doubles("plain_loss")[0]).epsilon(1e-6));

    size_t compared = 0;
    for (const std::string& tensor : f.names("gradient.")) {
      CAPTURE(tensor);
      const Parameter* p = learner->layout().find(tensor);
      REQUIRE(p != nullptr);
      std::vector<float> found;
      for (size_t i = 0; i<p->size; i += p->size> 256 ? 3 : 1) {
        found.push_back(learner->gradient()[p->offset + i]);
      }
      if (tensor.ends_with("k_proj.bias")) {  // softmax does not see it: 0
        for (const float v : found) CHECK(std::abs(v) < 1e-7f);
      } else {
        CHECK(error(found, f.floats("gradient." + tensor)) < 1e-5);
      }
      ++compared;
    }
    // All but the bias of the logits, which is no parameter.
    CHECK(compared + 1 == learner->layout().parameters().size());
  }
}

TEST_CASE("draws depend on a token's place in the step, not on passes and threads") {
  Marian marian("shared");
  marian.plan.dropout = DropoutRates::all(0.3);
  marian.plan.target.teacher_forcing = 0.5;
  const TrainingBatch batch = marian.batch();
  const auto run = [&](int threads, size_t tokens) {
    LearnerOptions options;
    options.threads = threads;
    options.max_pass_tokens = tokens;
    const auto learner = marian.learner(options);
    const double loss = learner->step(batch).loss;
    return std::pair(loss, std::vector<float>(learner->gradient(),
                                              learner->gradient() + learner->layout().floats()));
  };
  const auto [loss, gradient] = run(1, 2048);
  for (const auto& [threads, tokens] : {std::pair(1, size_t{1}), std::pair(3, size_t{2048})}) {
    const auto [other_loss, other] = run(threads, tokens);
    CHECK(other_loss == doctest::Approx(loss).epsilon(1e-6));
    CHECK(error(other, gradient) < 1e-5);
  }
  CHECK(run(1, 2048).second == gradient);
  CHECK(run(1, 1) == run(4, 1));
  marian.plan.dropout = {};
  CHECK(run(1, 2048).first != doctest::Approx(loss).epsilon(1e-3));
}

TEST_CASE("without teacher forcing a decoder learns behind the words it writes itself") {
  Marian marian("shared");
  const TrainingBatch batch = marian.batch();
  const auto learner = marian.learner();
  const double forced = learner->step(batch).loss;
  ModelFiles files;
  files.files.emplace_back("config.json", marian.json);
  TemporaryDirectory saved;
  save_model(*learner, files, saved.path());
  const auto model = Seq2Seq::open(saved.path(), Precision::f32);

  // Word by word with the model that translates.
  double expected = 0;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    TrainingBatch one;
    slice(batch, s, s + 1, one);
    const auto decoding = model->start();
    decoding->add(one.batch);
    Buffer hidden_buffer, logits_buffer;
    const Matrix hidden = hidden_buffer.matrix(1, model->output().width());
    const Matrix logits = logits_buffer.matrix(1, model->output().size());
    LinearScratch scratch;
    int32_t token = marian.plan.target.start;
    for (const int32_t label : one.target.input_ids) {
      decoding->step({&token, 1}, hidden);
      model->output().logits(hidden, logits, scratch);
      expected += loss_of(logits, 0, label);
      token = static_cast<int32_t>(std::max_element(logits.data, logits.data + logits.cols) -
                                   logits.data);
    }
  }
  expected /= static_cast<double>(batch.target.tokens());
  marian.plan.target.teacher_forcing = 0;
  const double own = marian.learner()->step(batch).loss;
  CHECK(own == doctest::Approx(expected).epsilon(1e-5));
  CHECK(own != doctest::Approx(forced).epsilon(1e-3));
}

TEST_CASE("teacher forcing: one go over the targets gives the losses of training") {
  const Marian marian("shared");
  const TrainingBatch batch = marian.batch();
  const auto learner = marian.learner();
  ModelFiles files;
  files.files.emplace_back("config.json", marian.json);
  TemporaryDirectory saved;
  save_model(*learner, files, saved.path());
  const auto model = Seq2Seq::open(saved.path(), Precision::f32);
  PackedBatch inputs;
  const std::vector<int32_t> ids = shifted(batch.target, marian.plan.target.start);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t n = batch.target.length(s);
    inputs.append(std::span(ids).subspan(batch.target.begin(s), n), std::vector<int32_t>(n));
  }
  Buffer hidden_buffer, logits_buffer;
  const Matrix hidden = hidden_buffer.matrix(inputs.tokens(), model->output().width());
  model->teach(batch.batch, inputs, hidden);
  const Matrix logits = logits_buffer.matrix(inputs.tokens(), model->output().size());
  LinearScratch scratch;
  model->output().logits(hidden, logits, scratch);
  double sum = 0;
  for (size_t t = 0; t < inputs.tokens(); ++t) {
    sum += loss_of(logits, t, batch.target.input_ids[t]);
  }
  CHECK(learner->evaluate(batch).token_loss == doctest::Approx(sum).epsilon(1e-5));
}

TEST_CASE("batches that an encoder-decoder cannot learn are refused") {
  const Marian marian("separate");
  const auto learner = marian.learner();
  const auto refused = [&](std::vector<int32_t> source, std::vector<int32_t> target) {
    TrainingBatch batch;
    batch.batch.append(source, std::vector<int32_t>(source.size()));
    if (!target.empty() || source.size() == 1) {
      batch.target.append(target, std::vector<int32_t>(target.size()));
    }
    try {
      learner->step(batch);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused({1, 0}, {24, 0}).empty());
  CHECK(refused({24, 0}, {1, 0})
            .ends_with("token id 24 of a source is outside the vocabulary of 23"));
  CHECK(refused({1, 0}, {27, 0})
            .ends_with("token id 27 of a target is outside the vocabulary of 27"));
  CHECK(refused({1, 0}, {-1, 0}).find("token id -1") != std::string::npos);
  CHECK(refused({1, 0}, {}).ends_with("found 1 sources and 0 targets"));
  CHECK(refused({0}, {}).ends_with("a target has 0 tokens, wants 1 to 16"));
  CHECK(
      refused({1, 0}, std::vector<int32_t>(17)).ends_with("a target has 17 tokens, wants 1 to 16"));
}

}  // namespace bert::training
