#include "trainers/train_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "metrics/rank_metrics.h"
#include "trainers/epochs.h"
#include "trainers/held_out.h"
#include "trainers/rank_examples.h"
#include "trainers/supervised.h"
#include "training/rank_network.h"

namespace bert {
namespace {

using nn::RankLoss;
using training::RankNetwork;
using training::TrainingBatch;

constexpr const char* kLosses[] = {"bce", "mse", "listnet", "lambda", "margin-mse", "mnrl"};

/// What a CrossEncoder puts its scores through: what the loss did.
const char* score_function_of(RankLoss loss) {
  const bool sigmoid = loss == RankLoss::binary || loss == RankLoss::ranking;
  return sigmoid ? "torch.nn.modules.activation.Sigmoid" : "torch.nn.modules.linear.Identity";
}

/// A query's texts, which learn their order.
class RankTask : public FinetuneTask {
 public:
  explicit RankTask(const FinetuneOptions& options)
      : FinetuneTask(options), loss_(options.rank_loss) {
    Checkpoint checkpoint = Checkpoint::open(options_.model);
    training::require_trainable(checkpoint.config, HeadKind::classify);
    const Tokenizer tokenizer = Tokenizer::open(options_.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    Config& config = checkpoint.config;
    config.problem_type = "regression";
    config.pooling = {};
    config.score_function = score_function_of(loss_);
    config.bilstm = {};
    if (config.labels.size() != 1) config.labels = {"LABEL_0"};
    read(config, tokenizer);
    describe();
    make_learner(std::move(checkpoint));
    tell_plan();
  }

  size_t examples() const override { return train_.size(); }
  training::StepSize size_of(uint32_t example) const override {
    const auto [first, end] = train_.range(example);
    training::StepSize size;
    size.sequences = end - first;
    for (size_t p = first; p < end; ++p) {
      const size_t length = train_.pairs[p].input_ids.size();
      size.tokens += length;
      size.longest = std::max(size.longest, length);
    }
    if (drawn_) {
      size.tokens += options_.negatives * size.tokens / size.sequences;
      size.sequences += options_.negatives;
    }
    return size;
  }
  void fill(std::span<const uint32_t> examples, TrainingBatch& batch) const override {
    if (drawn_) return drawn_->fill(examples, batch);
    train_.fill(examples, batch);
  }
  bool has_accuracy() const override { return true; }
  bool has_dev() const override { return dev_.has_value(); }
  std::string_view dev_noun() const override { return "dev queries"; }
  std::vector<std::string> measures() const override { return {"ndcg@10", "mrr", "map", "loss"}; }

  DevScore score() override {
    std::vector<uint32_t> all(dev_->size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    TrainingBatch batch;
    dev_->fill(all, batch);
    Buffer buffer;
    const Matrix scores = buffer.matrix(dev_->pairs.size(), 1);
    learner_->vectors(batch, scores);
    RankMetrics metrics;
    for (const RankExamples::Query& query : dev_->queries) {
      for (size_t p = query.first; p < query.end; ++p) {
        metrics.add(query.text, dev_->pairs[p].number, static_cast<double>(*scores.row(p)),
                    relevance_of(*dev_, query, p, loss_));
      }
    }
    DevScore dev;
    dev.loss = network().judge(batch, scores, {}).loss();
    dev.value = metrics.mean("ndcg@10");
    for (const char* name : {"mrr", "map"}) dev.measures[name] = metrics.mean(name);
    dev.report = metrics.report();
    return dev;
  }

 private:
  void read(const Config& config, const Tokenizer& tokenizer) {
    const size_t usual =
        task_spec(HeadKind::classify)
            .max_length(config.max_tokens(), tokenizer.model_max_length().value_or(512));
    length_ = checked_length(options_.max_length > 0 ? options_.max_length : usual, config);
    ExampleOptions from = options_.train;
    from.texts = 2;
    from.kind = LabelKind::number;
    from.encode.max_length = length_;
    const bool draws = loss_ == RankLoss::ranking && options_.negatives > 0;
    train_ = read_rank_examples(from, tokenizer, loss_, draws);
    if (const auto share = held_out_share(options_.dev)) {
      dev_ = hold_out(train_, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      from.files = options_.dev;
      dev_ = read_rank_examples(from, tokenizer, loss_);
    }
    if (!draws) return;
    train_.texts_are_drawn = train_.queries.size() > 1;
    drawn_ = std::make_unique<DrawnTexts>(train_, tokenizer, from.encode, options_.negatives,
                                          options_.learner.seed);
  }

  /// Whether the texts of a query differ in their labels.
  static bool is_told_apart(const RankExamples& set, const RankExamples::Query& query) {
    for (size_t p = query.first; p < query.end; ++p) {
      if (set.pairs[p].label != set.pairs[query.first].label) return true;
    }
    return false;
  }

  void describe_set(const RankExamples& set, const char* what) const {
    if (set.cut > 0) {
      notice(fmt::format("{} of {} {} pairs cut at {} tokens", set.cut, set.pairs.size(), what,
                         length_));
    }
    for (const std::string& line : set.counts.lines(fmt::format("{} pairs", what))) notice(line);
    const auto apart = std::count_if(set.queries.begin(), set.queries.end(),
                                     [&](const auto& query) { return is_told_apart(set, query); });
    if (set.lists && apart == 0 && !set.texts_are_drawn) {
      throw Error(Error::Kind::data, options_.train.files.front(),
                  "has no query with texts of different labels: nothing can be learned");
    }
    if (!set.lists || set.texts_are_drawn) return;
    const size_t alike = set.queries.size() - static_cast<size_t>(apart);
    if (alike > 0) {
      notice(fmt::format("{} of {} {} queries have texts of one label only", alike,
                         set.queries.size(), what));
    }
  }

  void describe() const {
    describe_set(train_, "training");
    if (dev_) describe_set(*dev_, "dev");
    if (dev_) check_dev();
    std::string line =
        fmt::format("{} training pairs of {} queries", train_.pairs.size(), train_.queries.size());
    if (dev_) {
      line += fmt::format("; {} dev pairs of {} queries", dev_->pairs.size(), dev_->queries.size());
    }
    notice(line);
  }

  /// Throws Error(data) if no dev text is relevant.
  void check_dev() const {
    for (const RankExamples::Query& query : dev_->queries) {
      for (size_t p = query.first; p < query.end; ++p) {
        if (relevance_of(*dev_, query, p, loss_) > 0) return;
      }
    }
    throw Error(Error::Kind::data, options_.dev.front(),
                "has no text with a label of 1 or more: no ranking can be scored");
  }

  void make_learner(Checkpoint checkpoint) {
    Config& config = checkpoint.config;
    const training::LearnerOptions learner = settle_plan(config, train_.size());
    files_ = training::ModelFiles::make(options_.model, config, HeadKind::classify);
    training::HeadPlan head = head_plan(HeadKind::classify, config, checkpoint.weights);
    head.config = std::move(config);
    learner_ = std::make_unique<training::Learner>(
        std::make_unique<RankNetwork>(std::move(head), loss_, learner.bf16), learner);
    const auto drawn = training::load_parameters(
        learner_->layout(), checkpoint.weights, learner.seed,
        training::initializer_range(network().config()), learner_->values());
    if (!drawn.empty()) notice(fmt::format("new, drawn at random: {}", fmt::join(drawn, ", ")));
    settle_rates();
  }

  bool learns_jointly() const override { return true; }
  std::string name() const override { return "rank"; }
  std::map<std::string, std::string> identity() const override {
    return {{"examples", hash_text(train_.hash())},
            {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
            {"loss", kLosses[static_cast<size_t>(loss_)]},
            {"drawn texts", std::to_string(drawn_ ? options_.negatives : 0)},
            {"sequence", std::to_string(length_)}};
  }

  const RankLoss loss_;
  size_t length_ = 0;  ///< tokens of a pair
  RankExamples train_;
  std::optional<RankExamples> dev_;
  std::unique_ptr<DrawnTexts> drawn_;  ///< by the training queries; or none
};

}  // namespace

bool train_rank(const FinetuneOptions& options) {
  RankTask task(options);
  return run_epochs(task);
}

}  // namespace bert
