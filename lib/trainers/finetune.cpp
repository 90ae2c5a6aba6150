#include "trainers/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/parse.h"
#include "directory/checkpoint.h"
#include "model/layers.h"
#include "trainers/epochs.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"
#include "trainers/teacher.h"

namespace bert {
namespace {

using training::BertLearner;

/// Classifiers, taggers and readers of questions: examples with labels.
class LabelTask : public FinetuneTask {
 public:
  explicit LabelTask(const FinetuneOptions& options) : FinetuneTask(options) {
    check();
    Checkpoint checkpoint = open_start(options.model, options.head, options.task);
    training::require_trainable(checkpoint.config, options_.task);
    weights_.emplace(std::move(checkpoint.weights));
    Config config = std::move(checkpoint.config);
    config.score_function.clear();  // of a CrossEncoder, which it is no longer
    set_bilstm(config);
    const Tokenizer tokenizer = Tokenizer::open(options.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    settle_pooling(config);
    read(config, tokenizer);
    make_learner(std::move(config));
    tell_plan();
  }

  size_t examples() const override { return train_.examples.size(); }
  training::StepSize size_of(uint32_t example) const override {
    const size_t length = train_.examples[example].input_ids.size();
    return {1, length, length};
  }
  void fill(std::span<const uint32_t> examples, training::TrainingBatch& batch) const override {
    train_.fill(examples, batch);
    trim(options_.task, batch);
  }
  bool has_accuracy() const override {
    return options_.task != HeadKind::classify || options_.train.kind == LabelKind::one;
  }
  bool has_dev() const override { return dev_.has_value(); }
  std::vector<std::string> measures() const override {
    return measures_of(options_.task, options_.train.kind);
  }
  std::span<const std::string> dev_texts() const override { return dev_->texts; }
  DevScore score() override { return bert::score(static_cast<BertLearner&>(*learner_), *dev_); }

 private:
  void check() const {
    if (options_.train.json_lines && options_.task != HeadKind::classify) {
      throw Error::of_field("json_lines", "is for `task` classify");
    }
    if (!(options_.hop_penalty >= 0 && std::isfinite(options_.hop_penalty))) {
      throw Error::of_field(
          "hop_penalty", fmt::format("found {}, wants a number from 0 up", options_.hop_penalty));
    }
  }

  void read(Config& config, const Tokenizer& tokenizer) {
    ExampleOptions train = options_.train;
    set_encoding(config, tokenizer, train);
    const std::vector<std::string> before =
        config.labels_named ? config.labels : std::vector<std::string>();
    KeptRecords kept;
    set_labels(options_.task, options_.train, options_.labels, config, &kept);
    relabelled_ = !before.empty() && before != config.labels;
    const auto share = held_out_share(options_.dev);
    train.scored = share.has_value();
    train.keep_texts = share && !options_.dump.empty();
    train_ = read_examples(options_.task, train, tokenizer, config.labels, &kept);
    if (share) {
      dev_ = hold_out(train_, train.kind, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      train.files = options_.dev;
      train.scored = true;
      train.keep_texts = !options_.dump.empty();
      dev_ = read_examples(options_.task, train, tokenizer, config.labels);
    }
    if (!options_.teacher.empty()) ask_teacher(options_, config, tokenizer, train_);
    encoding_ = std::move(train);
    for (const std::string& line :
         describe(options_.task, encoding_, config.labels, train_, dev_ ? &*dev_ : nullptr)) {
      notice(line);
    }
    if (!dev_) return;
    const auto gold = gold_options(options_.task, encoding_, *dev_, config, tokenizer);
    if (!gold.empty()) notice(gold);
  }

  /// Sets the sizes of attentive pooling that the head is to have; none: 0 hops.
  void settle_pooling(Config& config) const {
    constexpr size_t kSize = 128;  // rows of W of a new one
    const bool own = options_.head.empty() || config.find_head(options_.head);
    AttentivePoolingSizes before;
    if (own && options_.task == HeadKind::classify) before = config.pooling;
    const bool attentive = options_.pool == "attn" || (options_.pool.empty() && before.hops > 0);
    if (!options_.pool.empty() && options_.task != HeadKind::classify) {
      throw Error::of_field("pool", "is for a classifier of texts, not for this task");
    }
    if (!options_.pool.empty() && options_.pool != "cls" && options_.pool != "attn") {
      throw Error::of_field("pool",
                            fmt::format("found '{}', wants cls or attn", printable(options_.pool)));
    }
    if (!attentive && options_.hops) throw Error::of_field("hops", "wants `pool` attn");
    if (!attentive && options_.hop_penalty > 0) {
      throw Error::of_field("hop_penalty", "wants `pool` attn");
    }
    if (options_.hops && (*options_.hops < 1 || *options_.hops > 1000)) {
      throw Error::of_field("hops", fmt::format("found {}, wants 1 to 1000", *options_.hops));
    }
    config.pooling = {};
    if (!attentive) return;
    config.pooling.hops = options_.hops.value_or(std::max<size_t>(before.hops, 1));
    config.pooling.size = before.size > 0 ? before.size : kSize;
    config.pooling.unit = before.unit;
  }

  void set_encoding(const Config& config, const Tokenizer& tokenizer, ExampleOptions& train) const {
    const size_t limit =
        task_spec(options_.task)
            .max_length(config.max_tokens(), tokenizer.model_max_length().value_or(512));
    if (options_.max_length > config.max_tokens()) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants at most {}, the model's positions",
                                        options_.max_length, config.max_tokens()));
    }
    train.encode.max_length = options_.max_length > 0 ? options_.max_length : limit;
    if (train.encode.max_length < 8) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants at least 8", train.encode.max_length));
    }
    train.stride = std::min(train.stride, train.encode.max_length / 2);
    if (tokenizer.vocab_size() > config.vocab_size) {
      notice(fmt::format("the tokenizer has {} tokens, the model {}", tokenizer.vocab_size(),
                         config.vocab_size));
    }
  }

  /// The net that reads the model's layers, which then stay as they are.
  void set_bilstm(Config& config) {
    config.bilstm = options_.bilstm;
    if (!config.bilstm) return;
    if (options_.task != HeadKind::tokens) {
      throw Error::of_field("net", "found bilstm, which is for `task` ner");
    }
    const LayerExpression read =
        LayerExpression::parse(config.bilstm.layers, config.num_hidden_layers);
    if (read.is_static()) {
      throw Error::of_field("layers", fmt::format("found '{}', wants layers of the model",
                                                  printable(config.bilstm.layers)));
    }
    options_.freeze_layers = config.stored_layers();
    options_.freeze_embeddings = true;
  }

  void make_learner(Config config) {
    training::HeadPlan head = head_plan(options_.task, config, *weights_);
    head.hop_penalty = static_cast<float>(options_.hop_penalty);
    if (!options_.teacher.empty()) {
      head.teacher_share = static_cast<float>(options_.teacher_share);
      head.temperature = static_cast<float>(options_.temperature);
    }
    head.label_smoothing = static_cast<float>(options_.label_smoothing);
    head.class_weights.assign(options_.class_weights.begin(), options_.class_weights.end());
    if (options_.balanced) head.class_weights = balanced_weights(train_, config.labels.size());
    if (!head.class_weights.empty() && head.class_weights.size() != config.labels.size()) {
      throw Error::of_field("class_weights",
                            fmt::format("found {} weights, wants {}, one a label",
                                        head.class_weights.size(), config.labels.size()));
    }
    if (!head.class_weights.empty() && !any_weighs(train_, head.class_weights)) {
      throw Error(Error::Kind::data, options_.train.files.front(),
                  "has only labels whose weight is 0: nothing can be learned");
    }
    const training::LearnerOptions learner = settle_plan(config, train_.examples.size());
    files_ = training::ModelFiles::make(options_.model, config, head.objective);
    if (!options_.head.empty()) {
      files_.add_head(options_.model, options_.head, config, head.objective);
    }
    head.config = std::move(config);
    learner_ = std::make_unique<BertLearner>(std::vector{std::move(head)}, learner);
    const std::vector<std::string> relabelled(relabelled_ ? 1 : 0);
    const auto drawn = training::load_parameters(learner_->layout(), *weights_, learner.seed,
                                                 training::initializer_range(network().config()),
                                                 learner_->values(), relabelled);
    weights_.reset();
    if (!drawn.empty()) notice(fmt::format("new, drawn at random: {}", fmt::join(drawn, ", ")));
    if (options_.train.kind == LabelKind::number) begin_at_mean(drawn);
    settle_rates();
  }

  /// A new output for a number begins with the mean of the training values. From 0, a rate that
  /// suits the model would take most of a short run to get there.
  void begin_at_mean(std::span<const std::string> drawn) {
    double sum = 0;
    for (const Example& example : train_.examples) sum += static_cast<double>(example.values[0]);
    const auto mean = static_cast<float>(sum / static_cast<double>(train_.examples.size()));
    for (const training::Parameter& p : learner_->layout().parameters()) {
      const bool is_new = std::find(drawn.begin(), drawn.end(), p.name) != drawn.end();
      if (is_new && p.part == Part::bias && p.size == 1) learner_->values()[p.offset] = mean;
    }
  }

  std::string name() const override {
    constexpr const char* kTasks[] = {"classify", "ner", "qa"};
    return kTasks[static_cast<size_t>(options_.task)];
  }
  std::map<std::string, std::string> identity() const override {
    constexpr const char* kKinds[] = {"one label", "several labels", "a number", "none"};
    const Config& config = network().config();
    const std::string named = fmt::format("{}", fmt::join(options_.class_weights, ","));
    return {{"examples", hash_text(train_.hash())},
            {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
            {"kind of label", kKinds[static_cast<size_t>(options_.train.kind)]},
            {"labels", fmt::format("{}", fmt::join(config.labels, ","))},
            {"class weights", options_.balanced ? "balanced"
                              : named.empty()   ? "none"
                                                : named},
            {"sequence", std::to_string(encoding_.encode.max_length)},
            {"stride", std::to_string(encoding_.stride)},
            {"head", options_.head.empty() ? "none" : options_.head},
            {"hops", std::to_string(config.pooling.hops)},
            {"hop penalty", fmt::format("{}", options_.hop_penalty)},
            {"teacher", options_.teacher.empty()
                            ? "none"
                            : fmt::format("{:016x} share {} temperature {}", train_.taught_hash(),
                                          options_.teacher_share, options_.temperature)},
            {"net", options_.bilstm
                        ? fmt::format("bilstm {} of {} units over {}", options_.bilstm.num_layers,
                                      options_.bilstm.hidden_size, options_.bilstm.layers)
                        : "none"}};
  }

  ExampleOptions encoding_;  ///< how they were read
  ExampleSet train_;
  std::optional<ExampleSet> dev_;
  std::optional<Weights> weights_;  ///< until they are loaded
  bool relabelled_ = false;  ///< the classifier has other labels than the model it starts from
};

}  // namespace

void FinetuneOptions::set_class_weights(const std::string& text) {
  if (text.empty()) return;
  const auto refuse = [](const std::string& what) { throw Error::of_field("class_weights", what); };
  balanced = text == "balanced";
  bool some = balanced;
  for (const std::string_view weight : split(text, ',')) {
    if (balanced) break;
    const auto value = to_number<double>(weight);
    if (!value || !(*value >= 0 && std::isfinite(static_cast<float>(*value)))) {
      refuse(fmt::format("found '{}', wants numbers from 0 up", printable(weight)));
    }
    class_weights.push_back(*value);
    some |= static_cast<float>(*value) > 0;
  }
  if (!some) refuse(fmt::format("found '{}', wants one above 0", printable(text)));
  if (train.kind == LabelKind::several || train.kind == LabelKind::number ||
      task == HeadKind::spans) {
    refuse("wants one label a text or word, not several, numbers or answers");
  }
}

bool finetune(const FinetuneOptions& options) {
  LabelTask task(options);
  return run_epochs(task);
}

}  // namespace bert
