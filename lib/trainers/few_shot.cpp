#include "trainers/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "directory/sentence_modules.h"
#include "metrics/metrics.h"
#include "nn/logistic_regression.h"
#include "ops/kernels.h"
#include "trainers/dev_measures.h"
#include "trainers/dev_score.h"
#include "trainers/finetune_plan.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"
#include "training/vector_network.h"

namespace bert {
namespace {

using training::BertLearner;
using training::Learner;
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

class FewShot {
 public:
  explicit FewShot(const FinetuneOptions& options)
      : options_(options), modules_(SentenceModules::open(options.model)) {
    if (!options_.rate_given) options_.learner.optimizer.learning_rate = kRate;
    if (!options_.batch_given) options_.batch_size = kBatch;
    options_.check_learning_rate();
    Checkpoint checkpoint = Checkpoint::open(options_.model);
    training::require_trainable(checkpoint.config);
    trunk_ = checkpoint.config;
    config_ = checkpoint.config;
    weights_.emplace(std::move(checkpoint.weights));
    config_.score_function.clear();
    config_.bilstm = {};
    config_.pooling = {1, 1};  // of weights 0, so that each token counts alike
    read();
    pairs_ = make_pairs(train_.examples);
    const double epochs = options_.epochs.value_or(1);
    const auto batches =
        static_cast<double>((pairs_.size() + options_.batch_size - 1) / options_.batch_size);
    steps_ = static_cast<uint64_t>(std::max(1., std::ceil(epochs * batches - 1e-9)));
    notice(fmt::format("{} pairs of texts, {} steps, batches of {}, learning rate {:.3g}",
                       pairs_.size(), steps_, options_.batch_size,
                       options_.learner.optimizer.learning_rate));
    make_classifier();
  }

  bool run() {
    training::Run run(*classifier_,
                      training::ModelFiles::make(options_.model, config_, HeadKind::classify),
                      run_options());
    if (run.finished()) return true;
    if (options_.on_row)
      options_.on_row(dev_ ? "seed\ttrain_loss\tdev_accuracy" : "seed\ttrain_loss");
    std::vector<double> losses, scores;
    double best = -1;
    for (uint64_t seed = options_.learner.seed; seed < options_.learner.seed + options_.seeds;
         ++seed) {
      const std::optional<double> loss = learn(seed);
      if (!loss) return false;
      losses.push_back(*loss);
      DevScore dev;
      if (dev_) dev = score(*classifier_, *dev_);
      scores.push_back(dev.value);
      write_row(std::to_string(seed), *loss, dev.value);
      if (!dev_ && losses.size() > 1) continue;
      if (dev.value <= best) continue;
      best = dev.value;
      run.notes()["best seed"] = std::to_string(seed);
      report_ = dev.report;
      run.export_model();
    }
    if (losses.size() > 1) {
      const Spread loss = spread_of(losses), score = spread_of(scores);
      write_row("mean", loss.mean, score.mean);
      write_row("deviation", loss.deviation, score.deviation);
    }
    run.finish();
    notice(
        fmt::format("kept the model of seed {} in {}", run.notes()["best seed"], options_.output));
    if (dev_ && options_.on_report) options_.on_report(report_);
    return true;
  }

 private:
  void read() {
    const Tokenizer tokenizer = Tokenizer::open(options_.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    ExampleOptions from = options_.train;
    const size_t own =
        modules_.settings.max_length.value_or(tokenizer.model_max_length().value_or(512));
    from.encode.max_length = checked_length(
        options_.max_length > 0 ? options_.max_length : std::min(own, config_.max_tokens()),
        config_);
    KeptRecords kept;
    set_labels(HeadKind::classify, from, options_.labels, config_, &kept);
    const auto share = held_out_share(options_.dev);
    from.scored = share.has_value();
    train_ = read_examples(HeadKind::classify, from, tokenizer, config_.labels, &kept);
    if (share) {
      dev_ = hold_out(train_, from.kind, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      from.files = options_.dev;
      from.scored = true;
      dev_ = read_examples(HeadKind::classify, from, tokenizer, config_.labels);
    }
    if (train_.examples.size() > kMostTexts) {
      throw Error(Error::Kind::data, options_.train.files.front(),
                  fmt::format("has {} examples, few-shot is for at most {}", train_.examples.size(),
                              kMostTexts));
    }
    for (const std::string& line :
         describe(HeadKind::classify, from, config_.labels, train_, dev_ ? &*dev_ : nullptr)) {
      notice(line);
    }
  }

  void make_classifier() {
    training::HeadPlan head;
    head.objective = HeadKind::classify;
    head.config = config_;
    classifier_ = std::make_unique<BertLearner>(std::vector{std::move(head)},
                                                options_.learner_options(steps_));
  }

  training::RunOptions run_options() const {
    training::RunOptions run = options_.run_options("few-shot", steps_);
    run.identity["examples"] = hash_text(train_.hash());
    run.identity["dev examples"] = dev_ ? hash_text(dev_->hash()) : "none";
    run.identity["labels"] = fmt::format("{}", fmt::join(config_.labels, ","));
    run.identity["seeds"] = std::to_string(options_.seeds);
    return run;
  }

  /// Trains vectors with this seed and sets the classifier; returns the mean loss. None: it was
  /// asked to stop.
  std::optional<double> learn(uint64_t seed) {
    training::HeadPlan trunk;
    trunk.objective = HeadKind::vectors;
    trunk.dropout = options_.dropout_rates(trunk_, trunk.objective);
    trunk.config = trunk_;
    training::VectorTask task;
    task.loss.loss = nn::VectorLoss::cosine;
    training::LearnerOptions learning = options_.learner_options(steps_);
    learning.seed = seed;
    Learner learner(std::make_unique<VectorNetwork>(std::move(trunk), task, learning.bf16),
                    learning);
    training::load_parameters(learner.layout(), *weights_, seed,
                              training::initializer_range(trunk_), learner.values());
    double loss = 0, count = 0;
    std::vector<uint32_t> order;
    TrainingBatch batch;
    const size_t in_epoch = (pairs_.size() + options_.batch_size - 1) / options_.batch_size;
    for (uint64_t step = 0; step < steps_; ++step) {
      if (options_.stop && *options_.stop != 0) return std::nullopt;
      if (step % in_epoch == 0) order = shuffled(pairs_.size(), seed, step / in_epoch);
      const size_t first = step % in_epoch * options_.batch_size;
      fill(std::span(order).subspan(first, std::min(options_.batch_size, order.size() - first)),
           batch);
      const training::StepResult result = learner.step(batch);
      loss += result.tally.sequence_loss;
      count += result.tally.sequences;
    }
    set_classifier(learner);
    return loss / count;
  }

  void fill(std::span<const uint32_t> numbers, TrainingBatch& batch) const {
    batch.clear();
    for (const uint32_t number : numbers) {
      const TextPairOf& pair = pairs_[number];
      for (const uint32_t text : {pair.first, pair.second}) {
        const Example& example = train_.examples[text];
        batch.batch.append(example.input_ids, example.token_type_ids);
      }
      batch.values.push_back(pair.alike ? 1.f : 0.f);
    }
  }

  /// The trunk is the learner's. The rest is fitted to the vectors of the training texts. Where the
  /// model's vectors have length 1, these are divided by their mean length.
  void set_classifier(Learner& learner) {
    TrainingBatch all;
    std::vector<int32_t> labels;
    for (const Example& example : train_.examples) {
      all.batch.append(example.input_ids, example.token_type_ids);
      labels.push_back(example.label);
    }
    Buffer buffer;
    const Matrix x = buffer.matrix(labels.size(), trunk_.hidden_size);
    learner.vectors(all, x);
    float length = 0;
    for (size_t n = 0; n < x.rows; ++n) {
      length += std::sqrt(dot(x.row(n), x.row(n), x.cols)) / static_cast<float>(x.rows);
    }
    const float scale = modules_.normalize ? 1 / std::max(length, 1e-6f) : 1;
    for (size_t i = 0; i < x.rows * x.cols; ++i) x.data[i] *= scale;
    const nn::LinearClassifier fitted = nn::fit_logistic(x, labels, config_.labels.size());
    float* values = classifier_->values();
    const training::Layout& layout = classifier_->layout();
    for (const training::Parameter& p : learner.layout().parameters()) {
      if (const training::Parameter* to = layout.find(p.name)) {
        std::copy_n(learner.values() + p.offset, p.size, values + to->offset);
      }
    }
    const std::string role = tensor_name(Role::pooling_classifier);
    float* weight = values + layout.find(role)->offset;
    for (const double w : fitted.weights) *weight++ = static_cast<float>(w) * scale;
    float* bias = values + layout.find(tensor_name(Role::pooling_classifier, Part::bias))->offset;
    for (const double b : fitted.biases) *bias++ = static_cast<float>(b);
  }

  void write_row(const std::string& name, double loss, double score) const {
    if (!options_.on_row) return;
    options_.on_row(fmt::format("{}\t{:.6g}", name, loss) +
                    (dev_ ? "\t" + number_text(score) : ""));
  }
  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  FinetuneOptions options_;
  const SentenceModules modules_;
  Config trunk_, config_;  ///< what vectors and classifier are made by
  std::optional<Weights> weights_;
  ExampleSet train_;
  std::optional<ExampleSet> dev_;
  std::vector<TextPairOf> pairs_;
  uint64_t steps_ = 0;
  std::unique_ptr<BertLearner> classifier_;
  std::string report_;  ///< tells about the model that was kept
};

}  // namespace

bool few_shot(const FinetuneOptions& options) { return FewShot(options).run(); }

}  // namespace bert
