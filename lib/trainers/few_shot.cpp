#include "trainers/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "directory/sentence_modules.h"
#include "nn/logistic_regression.h"
#include "ops/kernels.h"
#include "trainers/dev_measures.h"
#include "trainers/dev_score.h"
#include "trainers/epochs.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"
#include "training/vector_network.h"

namespace bert {
namespace {

using training::BertLearner;
using training::Learner;
using training::Parameter;
using training::TrainingBatch;
using training::VectorNetwork;

constexpr size_t kMostTexts = 2000;  // pairs grow with the square
constexpr size_t kBatch = 16;
constexpr double kRate = 2e-5;
constexpr uint64_t kOrderOfPairs = 42;  // SetFit draws it by one seed, too

struct TextPairOf {
  uint32_t first, second;
  bool alike;
};

/// Each two texts, a text with itself too, in a random order: as many that are alike as others. The
/// fewer ones stand there again and again.
std::vector<TextPairOf> make_pairs(const std::vector<Example>& texts) {
  std::vector<TextPairOf> all, pairs;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    for (uint32_t j = i; j < texts.size(); ++j) {
      all.push_back({i, j, texts[i].label == texts[j].label});
    }
  }
  std::vector<TextPairOf> parts[2];
  for (const uint32_t index : shuffled(all.size(), kOrderOfPairs, 0)) {
    parts[all[index].alike].push_back(all[index]);
  }
  const size_t count = std::max(parts[0].size(), parts[1].size());
  for (size_t i = 0; i < count; ++i) {
    for (const auto& part : parts) pairs.push_back(part[i % part.size()]);
  }
  return pairs;
}

/// Gives each row the length 1; returns the mean of what they had.
float normalize(Matrix x) {
  float mean = 0;
  for (size_t n = 0; n < x.rows; ++n) {
    const float length = std::max(std::sqrt(dot(x.row(n), x.row(n), x.cols)), 1e-6f);
    for (size_t i = 0; i < x.cols; ++i) x.row(n)[i] /= length;
    mean += length / static_cast<float>(x.rows);
  }
  return mean;
}

/// With the defaults of few examples.
FinetuneOptions settled(FinetuneOptions options) {
  if (!options.rate_given) options.learner.optimizer.learning_rate = kRate;
  if (!options.batch_given) options.batch_size = kBatch;
  if (!options.epochs) options.epochs = 1;
  options.rate_given = options.batch_given = true;
  return options;
}

/// A classifier of texts whose vectors learn from pairs. Its own layer has no part in the steps: it
/// is fitted before a score and before the model is written.
class FewShotTask : public FinetuneTask {
 public:
  explicit FewShotTask(const FinetuneOptions& options)
      : FinetuneTask(settled(options)), modules_(SentenceModules::open(options.model)) {
    Checkpoint checkpoint = Checkpoint::open(options_.model);
    training::require_trainable(checkpoint.config, HeadKind::classify);
    Config config = std::move(checkpoint.config);
    config.score_function.clear();
    config.bilstm = {};
    config.pooling = {1, 1};  // of weights 0, so that each token counts alike
    read(config);
    pairs_ = make_pairs(train_.examples);
    notice(fmt::format("{} pairs of texts", pairs_.size()));
    make_learner(std::move(config), checkpoint.weights);
    tell_plan();
  }

  size_t examples() const override { return pairs_.size(); }
  training::StepSize size_of(uint32_t example) const override {
    training::StepSize size;
    size.sequences = 2;
    for (const uint32_t text : {pairs_[example].first, pairs_[example].second}) {
      const size_t length = train_.examples[text].input_ids.size();
      size.tokens += length;
      size.longest = std::max(size.longest, length);
    }
    return size;
  }
  /// A text of several pairs is computed once.
  void fill(std::span<const uint32_t> examples, TrainingBatch& batch) const override {
    batch.clear();
    std::map<uint32_t, int32_t> sequences;
    for (const uint32_t number : examples) {
      const TextPairOf& pair = pairs_[number];
      for (const uint32_t text : {pair.first, pair.second}) {
        const auto [at, is_new] =
            sequences.try_emplace(text, static_cast<int32_t>(sequences.size()));
        const Example& example = train_.examples[text];
        if (is_new) batch.batch.append(example.input_ids, example.token_type_ids);
        batch.texts.push_back(at->second);
      }
      batch.values.push_back(pair.alike ? 1.f : 0.f);
    }
  }
  bool has_accuracy() const override { return false; }
  bool has_dev() const override { return dev_.has_value(); }
  std::vector<std::string> measures() const override {
    return measures_of(HeadKind::classify, LabelKind::one);
  }
  std::span<const std::string> dev_texts() const override { return dev_->texts; }

  DevScore score() override {
    fit();
    if (!classifier_) make_classifier();
    std::copy_n(learner_->values(), learner_->layout().floats(), classifier_->values());
    return bert::score(*classifier_, *dev_);
  }
  void complete() override {
    if (fitted_at_ != learner_->steps()) fit();
  }

 private:
  void read(Config& config) {
    const Tokenizer tokenizer = Tokenizer::open(options_.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    ExampleOptions from = options_.train;
    const size_t own =
        modules_.settings.max_length.value_or(tokenizer.model_max_length().value_or(512));
    length_ = checked_length(
        options_.max_length > 0 ? options_.max_length : std::min(own, config.max_tokens()), config);
    from.encode.max_length = length_;
    KeptRecords kept;
    set_labels(HeadKind::classify, from, options_.labels, config, &kept);
    const auto share = held_out_share(options_.dev);
    from.scored = share.has_value();
    from.keep_texts = share && !options_.dump.empty();
    train_ = read_examples(HeadKind::classify, from, tokenizer, config.labels, &kept);
    if (share) {
      dev_ = hold_out(train_, from.kind, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      from.files = options_.dev;
      from.scored = true;
      from.keep_texts = !options_.dump.empty();
      dev_ = read_examples(HeadKind::classify, from, tokenizer, config.labels);
    }
    if (train_.examples.size() > kMostTexts) {
      throw Error(Error::Kind::data, options_.train.files.front(),
                  fmt::format("has {} examples, few-shot is for at most {}", train_.examples.size(),
                              kMostTexts));
    }
    for (const std::string& line :
         describe(HeadKind::classify, from, config.labels, train_, dev_ ? &*dev_ : nullptr)) {
      notice(line);
    }
  }

  void make_learner(Config config, const Weights& weights) {
    const training::LearnerOptions learner = settle_plan(config, pairs_.size());
    files_ = training::ModelFiles::make(options_.model, config, HeadKind::classify);
    training::HeadPlan plan = head_plan(HeadKind::classify, config, weights);
    plan.dropout = options_.dropout_rates(config, HeadKind::vectors);
    plan.config = std::move(config);
    training::VectorTask task;
    task.loss.loss = nn::VectorLoss::cosine;
    learner_ = std::make_unique<Learner>(
        std::make_unique<VectorNetwork>(std::move(plan), task, learner.bf16), learner);
    training::load_parameters(learner_->layout(), weights, learner.seed,
                              training::initializer_range(network().config()), learner_->values());
    settle_rates();
    for (Parameter& p : learner_->layout().parameters()) {
      if (p.depth <= static_cast<int32_t>(network().config().stored_layers())) continue;
      p.rate_scale = 0;
      std::fill_n(learner_->values() + p.offset, p.size, 0.f);
    }
  }

  void make_classifier() {
    training::HeadPlan head;
    head.objective = HeadKind::classify;
    head.config = network().config();
    training::LearnerOptions plain;
    plain.threads = options_.learner.threads;
    plain.max_pass_tokens = options_.learner.max_pass_tokens;
    classifier_ = std::make_unique<BertLearner>(std::vector{std::move(head)}, plain);
  }

  bool learns_jointly() const override { return true; }
  std::string name() const override { return "few-shot"; }
  std::map<std::string, std::string> identity() const override {
    return {{"examples", hash_text(train_.hash())},
            {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
            {"labels", fmt::format("{}", fmt::join(network().config().labels, ","))},
            {"sequence", std::to_string(length_)}};
  }

  /// Fits the classifier to the vectors of the training texts. Where the model's vectors have
  /// length 1, these are divided by their mean length.
  void fit() {
    TrainingBatch all;
    std::vector<int32_t> labels;
    for (const Example& example : train_.examples) {
      all.batch.append(example.input_ids, example.token_type_ids);
      labels.push_back(example.label);
    }
    Buffer buffer;
    const Config& config = network().config();
    const Matrix x = buffer.matrix(labels.size(), config.hidden_size);
    learner_->vectors(all, x);
    const float scale = modules_.normalize ? 1 / normalize(x) : 1;
    const nn::LinearClassifier fitted = nn::fit_logistic(x, labels, config.labels.size());
    const auto at = [&](Part part) {
      return learner_->values() +
             learner_->layout().find(tensor_name(Role::pooling_classifier, part))->offset;
    };
    std::transform(fitted.weights.begin(), fitted.weights.end(), at(Part::weight),
                   [&](double w) { return static_cast<float>(w) * scale; });
    std::transform(fitted.biases.begin(), fitted.biases.end(), at(Part::bias),
                   [](double b) { return static_cast<float>(b); });
    fitted_at_ = learner_->steps();
  }

  const SentenceModules modules_;
  size_t length_ = 0;  ///< tokens of a text
  ExampleSet train_;
  std::optional<ExampleSet> dev_;
  std::vector<TextPairOf> pairs_;
  std::unique_ptr<BertLearner> classifier_;  ///< what is scored
  uint64_t fitted_at_ = UINT64_MAX;          ///< step of the last fit
};

}  // namespace

bool few_shot(const FinetuneOptions& options) {
  FewShotTask task(options);
  return run_epochs(task);
}

}  // namespace bert
