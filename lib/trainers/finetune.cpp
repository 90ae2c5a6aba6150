#include "trainers/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/parse.h"
#include "directory/checkpoint.h"
#include "directory/file_names.h"
#include "io/mapped_file.h"
#include "metrics/metrics.h"
#include "model/layers.h"
#include "trainers/dev_score.h"
#include "trainers/finetune_plan.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"

namespace bert {
namespace {

using training::BertLearner;
using training::Run;
using training::Tally;

void set_rates(const FinetuneOptions& options, BertLearner& learner) {
  const size_t layers = learner.config().stored_layers();
  const auto top = static_cast<double>(layers + 1);
  for (training::Parameter& p : learner.layout().parameters()) {
    p.rate_scale = static_cast<float>(std::pow(options.layer_decay, top - p.depth));
  }
  const size_t frozen = options.freeze_layers.value_or(options.head.empty() ? 0 : layers);
  if (frozen > 0 || options.freeze_embeddings || !options.head.empty()) {
    freeze(learner.layout(), frozen);
  }
}

/// Everything one run of finetune() holds.
class Finetuning {
 public:
  explicit Finetuning(const FinetuneOptions& options) : options_(options) {
    check();
    Checkpoint checkpoint = open_start(options.model, options.head, options.task);
    training::require_trainable(checkpoint.config);
    weights_.emplace(std::move(checkpoint.weights));
    Config config = std::move(checkpoint.config);
    config.score_function.clear();  // of a CrossEncoder, which it is no longer
    set_bilstm(config);
    const Tokenizer tokenizer = Tokenizer::open(options.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    settle_pooling(config);
    ExampleOptions train = options.train;
    set_encoding(config, tokenizer, train);
    const std::vector<std::string> before =
        config.labels_named ? config.labels : std::vector<std::string>();
    KeptRecords kept;
    set_labels(options.task, options.train, options.labels, config, &kept);
    relabelled_ = !before.empty() && before != config.labels;
    const auto share = held_out_share(options.dev);
    train.scored = share.has_value();
    train_ = read_examples(options.task, train, tokenizer, config.labels, &kept);
    if (share) {
      dev_ = hold_out(train_, train.kind, *share, options.learner.seed);
    } else if (!options.dev.empty()) {
      train.files = options.dev;
      train.scored = true;
      dev_ = read_examples(options.task, train, tokenizer, config.labels);
    }
    encoding_ = std::move(train);
    for (const std::string& line :
         describe(options.task, encoding_, config.labels, train_, dev_ ? &*dev_ : nullptr)) {
      notice(line);
    }
    if (dev_) {
      const auto gold = gold_options(options.task, encoding_, *dev_, config, tokenizer);
      if (!gold.empty()) notice(gold);
    }
    make_learner(std::move(config));
    notice(plan_.text());
    if (options_.on_memory)
      options_.on_memory(learner_->bytes_to_come(step_size(), dev_.has_value()));
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    best_ = run.noted("best", -INFINITY);
    waiting_ = static_cast<size_t>(run.noted("waiting"));
    if (dev_ && std::isfinite(best_)) check_kept(run);
    if (run.finished()) {
      tell_end(run);
      return true;
    }
    resume_epoch(run);
    head_row();
    const bool at_end =
        learner_->steps() % plan_.steps_per_epoch == 0 || learner_->steps() == plan_.steps;
    if (tally_.sequences > 0 && at_end) {  // it was saved before the epoch's end was dealt with
      end_epoch(run, (learner_->steps() - 1) / plan_.steps_per_epoch);
    }
    for (uint64_t epoch = learner_->steps() / plan_.steps_per_epoch;
         learner_->steps() < plan_.steps; ++epoch) {
      if (options_.patience > 0 && waiting_ >= options_.patience) break;
      if (!run_epoch(run, epoch)) return false;
    }
    if (!dev_) run.export_model();
    run.finish();
    tell_end(run);
    return true;
  }

 private:
  void check() const {
    const auto refuse = [](const char* field, double value, const char* wanted) {
      throw Error::of_field(field, fmt::format("found {}, wants {}", value, wanted));
    };
    options_.check_learning_rate();
    if (options_.train.json_lines && options_.task != HeadKind::classify) {
      throw Error::of_field("json_lines", "is for `task` classify");
    }
    if (!(options_.hop_penalty >= 0 && std::isfinite(options_.hop_penalty))) {
      refuse("hop_penalty", options_.hop_penalty, "a number from 0 up");
    }
    if (options_.epochs && !(*options_.epochs > 0 && *options_.epochs < 1e6)) {
      refuse("epochs", *options_.epochs, "a number above 0");
    }
    if (!(options_.warmup_ratio >= 0 && options_.warmup_ratio <= 1)) {
      refuse("warmup_ratio", options_.warmup_ratio, "a number from 0 to 1");
    }
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
    training::HeadPlan head;
    head.objective = options_.task;
    head.dropout = options_.dropout_rates(config, head.objective);
    head.hop_penalty = static_cast<float>(options_.hop_penalty);
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
    if (options_.freeze_layers.value_or(0) > config.stored_layers()) {
      throw Error::of_field("freeze_layers",
                            fmt::format("found {}, wants at most {}", *options_.freeze_layers,
                                        config.stored_layers()));
    }
    plan_ = FinetunePlan::make(options_, config, train_.examples.size());
    options_.batch_size = plan_.batch_size;
    options_.learner.optimizer.learning_rate = plan_.learning_rate;
    const training::LearnerOptions learner = options_.learner_options(plan_.steps);
    files_ = training::ModelFiles::make(options_.model, config, head.objective);
    if (!options_.head.empty()) {
      files_.add_head(options_.model, options_.head, config, head.objective);
    }
    head.config = std::move(config);
    learner_ = std::make_unique<BertLearner>(std::vector{std::move(head)}, learner);
    const std::vector<std::string> relabelled(relabelled_ ? 1 : 0);
    const auto drawn = training::load_parameters(learner_->layout(), *weights_, learner.seed,
                                                 training::initializer_range(learner_->config()),
                                                 learner_->values(), relabelled);
    weights_.reset();
    if (!drawn.empty()) notice(fmt::format("new, drawn at random: {}", fmt::join(drawn, ", ")));
    set_rates(options_, *learner_);
  }

  /// The largest batch of the first epoch.
  training::StepSize step_size() const {
    const std::vector<uint32_t> order = shuffled(train_.examples.size(), options_.learner.seed, 0);
    training::StepSize size;
    size.sequences = std::min(options_.batch_size, order.size());
    size_t tokens = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % options_.batch_size == 0) tokens = 0;
      const size_t length = train_.examples[order[i]].input_ids.size();
      tokens += length;
      size.tokens = std::max(size.tokens, tokens);
      size.longest = std::max(size.longest, length);
    }
    return size;
  }

  /// Throws Error if the best model so far is missing. It stands in the directory: a checkpoint
  /// holds only the last model.
  void check_kept(Run& run) const {
    std::string missing;
    auto files = files_.head_name.empty() ? files_.files : files_.head_files;
    files.emplace_back(file_names::kSafetensors, "");
    for (const auto& [name, content] : files) {
      if (!file_exists(options_.output + "/" + name)) missing += name + ", ";
    }
    if (missing.empty()) return;
    missing.resize(missing.size() - 2);
    throw Error(Error::Kind::no_input, options_.output,
                fmt::format("lacks {}: checkpoints do not hold the model of epoch {}, the best so "
                            "far; `overwrite` without `resume` begins anew",
                            missing, run.notes()["best epoch"]));
  }

  /// Which model it is that stands there now.
  void tell_end(Run& run) const {
    if (!dev_) {
      notice(fmt::format("the model after the last epoch is in {}", options_.output));
      return;
    }
    notice(fmt::format("kept the model after epoch {} ({} of the dev examples: {}) in {}",
                       run.notes()["best epoch"], metric_of(options_.task, options_.train.kind),
                       run.notes()["best score"], options_.output));
    if (run.notes()["best score"] == "nan") {
      notice("no correlation: the dev labels, or what the model says of them, do not vary");
    }
    if (options_.on_report) options_.on_report(run.notes()["best report"]);
  }

  training::RunOptions run_options() const {
    constexpr const char* kTasks[] = {"classify", "ner", "qa"};
    constexpr const char* kKinds[] = {"one label", "several labels", "a number", "none"};
    training::RunOptions run =
        options_.run_options(kTasks[static_cast<size_t>(options_.task)], plan_.steps);
    const std::string named = fmt::format("{}", fmt::join(options_.class_weights, ","));
    run.identity.merge(std::map<std::string, std::string>{
        {"examples", hash_text(train_.hash())},
        {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
        {"kind of label", kKinds[static_cast<size_t>(options_.train.kind)]},
        {"labels", fmt::format("{}", fmt::join(learner_->config().labels, ","))},
        {"class weights", options_.balanced ? "balanced"
                          : named.empty()   ? "none"
                                            : named},
        {"patience", std::to_string(options_.patience)},
        {"sequence", std::to_string(encoding_.encode.max_length)},
        {"stride", std::to_string(encoding_.stride)},
        {"head", options_.head.empty() ? "none" : options_.head},
        {"hops", std::to_string(learner_->config().pooling.hops)},
        {"hop penalty", fmt::format("{}", options_.hop_penalty)},
        {"frozen layers",
         options_.freeze_layers ? std::to_string(*options_.freeze_layers) : "by default"},
        {"frozen embeddings", options_.freeze_embeddings ? "yes" : "no"},
        {"layer decay", fmt::format("{}", options_.layer_decay)},
        {"net", options_.bilstm
                    ? fmt::format("bilstm {} of {} units over {}", options_.bilstm.num_layers,
                                  options_.bilstm.hidden_size, options_.bilstm.layers)
                    : "none"}});
    return run;
  }

  /// The losses of an epoch that was interrupted.
  void resume_epoch(Run& run) {
    tally_ = {};
    tally_.sequence_loss = run.noted("epoch loss");
    tally_.sequences = run.noted("epoch count");
    tally_.labelled = run.noted("epoch labelled", tally_.sequences);
    right_ = run.noted("epoch right");
  }
  void note_epoch(Run& run) {
    run.note("epoch loss", tally_.sequence_loss);
    run.note("epoch count", tally_.sequences);
    run.note("epoch labelled", tally_.labelled);
    run.note("epoch right", right_);
    run.note("best", best_);
    run.notes()["waiting"] = std::to_string(waiting_);
  }

  bool run_epoch(Run& run, uint64_t epoch) {
    const std::vector<uint32_t> order =
        shuffled(train_.examples.size(), options_.learner.seed, epoch);
    training::TrainingBatch batch;
    uint64_t at = learner_->steps() % plan_.steps_per_epoch;
    for (; at < plan_.steps_per_epoch && learner_->steps() < plan_.steps; ++at) {
      const size_t first = at * options_.batch_size;
      train_.fill(
          std::span(order).subspan(first, std::min(options_.batch_size, order.size() - first)),
          batch);
      trim(options_.task, batch);
      note_epoch(run);  // should this step save
      const bool goes_on = run.step({&batch, 1}, [&](const training::StepResult& result) {
        const Tally& tally = result.tally;
        tally_.sequence_loss += tally.token_loss + tally.sequence_loss;
        tally_.sequences += tally.tokens + tally.sequences;
        tally_.labelled += tally.labelled;
        right_ += static_cast<double>(tally.tokens_right + tally.sequences_right);
        note_epoch(run);
      });
      if (!goes_on) {
        run.checkpoint();
        return false;
      }
    }
    end_epoch(run, epoch);
    return true;
  }

  void head_row() {
    if (!options_.on_row || learner_->steps() > 0) return;
    std::string row = "epoch\ttrain_loss\ttrain_accuracy";
    if (dev_) row += "\tdev_loss\tdev_" + metric_of(options_.task, options_.train.kind);
    options_.on_row(row);
  }
  void end_epoch(Run& run, uint64_t epoch) {
    const bool has_accuracy =
        options_.task != HeadKind::classify || options_.train.kind == LabelKind::one;
    std::string row =
        fmt::format("{}\t{:.6g}\t", epoch + 1, tally_.sequence_loss / tally_.sequences);
    row += has_accuracy ? fmt::format("{:.6g}", right_ / tally_.labelled) : "-";
    if (dev_) {
      const DevScore dev = score(*learner_, *dev_);
      run.dev_point(dev.loss, dev.value);
      row += fmt::format("\t{:.6g}\t{}", dev.loss, number_text(dev.value));
      ++waiting_;
      const double value = std::isnan(dev.value) ? -1 : dev.value;  // no correlation is the worst
      if (value > best_) {
        best_ = value;
        waiting_ = 0;
        run.notes()["best epoch"] = std::to_string(epoch + 1);
        run.notes()["best score"] = number_text(dev.value);
        run.notes()["best report"] = dev.report;
        run.export_model();
      }
    }
    tally_ = {};
    right_ = 0;
    note_epoch(run);
    run.checkpoint();
    if (options_.on_row) options_.on_row(row);
  }

  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  FinetuneOptions options_;  ///< with batch size and rate of the plan
  ExampleOptions encoding_;  ///< how they were read
  ExampleSet train_;
  std::optional<ExampleSet> dev_;
  std::optional<Weights> weights_;  ///< until they are loaded
  training::ModelFiles files_;
  std::unique_ptr<BertLearner> learner_;
  FinetunePlan plan_;
  Tally tally_;
  double right_ = 0;
  double best_ = 0;
  size_t waiting_ = 0;
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

bool finetune(const FinetuneOptions& options) { return Finetuning(options).run(); }

}  // namespace bert
