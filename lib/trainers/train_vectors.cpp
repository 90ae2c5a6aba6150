#include "trainers/train_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/model_files.h"
#include "directory/sentence_modules.h"
#include "directory/weight_files.h"
#include "metrics/metrics.h"
#include "trainers/finetune_plan.h"
#include "trainers/held_out.h"
#include "trainers/supervised.h"
#include "trainers/vector_examples.h"
#include "trainers/vector_score.h"
#include "training/vector_network.h"

namespace bert {
namespace {

using training::Run;
using training::Tally;
using training::TrainingBatch;
using training::VectorNetwork;

constexpr const char* kLosses[] = {"mnrl", "cosent", "cosine", "triplet", "mse"};

/// Throws Error(unsupported) if vectors of these modules are not trained.
void require_plain(const SentenceModules& modules, const std::string& path) {
  const auto refuse = [&](const char* what) {
    throw Error(Error::Kind::unsupported, path,
                fmt::format("{}: vectors of such a model are not trained yet", what));
  };
  if (!modules.dense.empty() || !modules.token_layers.empty()) refuse("has a Dense module");
  if (modules.static_folder) refuse("has static vectors");
  if (modules.layer_mean) refuse("takes the mean of layers");
  if (modules.of_tokens || modules.scores || modules.splade || modules.of_logits) {
    refuse("does not give one vector for a text");
  }
  if (modules.pooling_modes.empty()) refuse("has no Pooling");
}

/// Everything one run of train_vectors() holds.
class VectorTraining {
 public:
  explicit VectorTraining(const FinetuneOptions& options)
      : options_(options), modules_(SentenceModules::open(options.model)) {
    options_.check_learning_rate();
    require_plain(modules_, options_.model.file(file_names::kModules));
    Checkpoint checkpoint = Checkpoint::open(options_.model);
    training::require_trainable(checkpoint.config);
    const Tokenizer tokenizer = Tokenizer::open(options_.model);
    for (const std::string& warning : tokenizer.warnings()) notice(warning);
    modules_.check_case(tokenizer.lowercase());
    const bool first_is_vector = !modules_.present && checkpoint.config.family->vector_is_first;
    pooling_ = first_is_vector ? std::vector<std::string>{"cls"} : modules_.pooling_modes;
    settle_task(checkpoint.config);
    read(checkpoint.config, tokenizer);
    make_learner(std::move(checkpoint));
    notice(plan_.text());
    if (options_.on_memory) {
      options_.on_memory(learner_->bytes_to_come(step_size(), dev_.has_value()));
    }
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    best_ = run.noted("best", -INFINITY);
    waiting_ = static_cast<size_t>(run.noted("waiting"));
    if (run.finished()) return tell_end(run);
    loss_ = run.noted("epoch loss");
    count_ = run.noted("epoch count");
    right_ = run.noted("epoch right");
    head_row();
    const bool at_end =
        learner_->steps() % plan_.steps_per_epoch == 0 || learner_->steps() == plan_.steps;
    if (count_ > 0 && at_end) {  // it was saved before the epoch's end was dealt with
      end_epoch(run, (learner_->steps() - 1) / plan_.steps_per_epoch);
    }
    for (uint64_t epoch = learner_->steps() / plan_.steps_per_epoch;
         learner_->steps() < plan_.steps; ++epoch) {
      if (options_.patience > 0 && waiting_ >= options_.patience) break;
      if (!run_epoch(run, epoch)) return false;
    }
    if (!dev_) run.export_model();
    run.finish();
    return tell_end(run);
  }

 private:
  nn::VectorLoss loss() const { return task_.loss.loss; }

  void settle_task(const Config& config) {
    const VectorOptions& wanted = options_.vectors;
    task_.loss = wanted.loss;
    task_.dims = wanted.dims;
    std::sort(task_.dims.rbegin(), task_.dims.rend());
    task_.poolings.clear();
    for (const std::string& name : pooling_) task_.poolings.push_back(pooling_from_name(name));
    task_.normalize = modules_.normalize;
    const size_t width = config.hidden_size * task_.poolings.size();
    for (const size_t dims : task_.dims) {
      if (dims >= 1 && dims <= width) continue;
      throw Error::of_field("dims", fmt::format("found {}, wants 1 to {}", dims, width));
    }
    if (!(task_.loss.scale > 0 && std::isfinite(task_.loss.scale))) {
      throw Error::of_field("scale",
                            fmt::format("found {}, wants a number above 0", task_.loss.scale));
    }
  }

  /// The texts of the prompts that are named.
  std::vector<std::string> prompts() const {
    std::vector<std::string> texts;
    for (const std::string& name : options_.vectors.prompts) {
      if (!modules_.prompts.contains(name)) {
        std::string known;
        for (const auto& [own, text] : modules_.prompts) known += (known.empty() ? "" : ", ") + own;
        throw Error::of_field("prompts",
                              fmt::format("found '{}', wants one of the model's prompts ({})",
                                          printable(name), known.empty() ? "it has none" : known));
      }
      texts.push_back(modules_.prompt(name));
    }
    if (texts.empty()) texts.push_back(modules_.prompt());
    return texts;
  }

  void read(const Config& config, const Tokenizer& tokenizer) {
    const size_t own =
        modules_.settings.max_length.value_or(tokenizer.model_max_length().value_or(512));
    const size_t length =
        options_.max_length > 0 ? options_.max_length : std::min(own, config.max_tokens());
    if (length > config.max_tokens() || length < 8) {
      throw Error::of_field("max_length",
                            fmt::format("found {}, wants 8 to {}, the model's positions", length,
                                        config.max_tokens()));
    }
    VectorExampleOptions from{options_.train, loss(), prompts(), modules_.include_prompt};
    from.from.encode.max_length = length_ = length;
    train_ = read_vector_examples(from, tokenizer);
    task_.loss.columns = train_.columns;
    const bool teaches = loss() == nn::VectorLoss::teacher;
    if (teaches) {
      read_teacher(options_.vectors.teacher_vectors, config.hidden_size * task_.poolings.size(),
                   train_);
    }
    if (const auto share = held_out_share(options_.dev)) {
      dev_ = hold_out(train_, *share, options_.learner.seed);
    } else if (!options_.dev.empty()) {
      if (teaches) {
        throw Error::of_field("dev", "wants a share such as 10% beside a teacher's vectors");
      }
      from.from.files = options_.dev;
      dev_ = read_vector_examples(from, tokenizer, train_.columns);
    }
    describe();
  }

  void describe() const {
    const auto say = [&](const VectorExamples& set, const char* what) {
      if (set.cut > 0) {
        notice(fmt::format("{} of {} {} texts cut at {} tokens", set.cut, set.texts.size(), what,
                           length_));
      }
      if (set.empty > 0) {
        notice(fmt::format("{} of {} {} texts are empty", set.empty, set.texts.size(), what));
      }
      for (const std::string& line : set.counts.lines(fmt::format("{} texts", what))) notice(line);
    };
    say(train_, "training");
    if (dev_) say(*dev_, "dev");
    std::string line = fmt::format("{} training records of {} text{}", train_.records(),
                                   train_.columns, train_.columns == 1 ? "" : "s");
    if (dev_) line += fmt::format("; {} dev records", dev_->records());
    notice(line);
  }

  void make_learner(Checkpoint checkpoint) {
    Config& config = checkpoint.config;
    const size_t layers = config.stored_layers();
    if (options_.freeze_layers.value_or(0) > layers) {
      throw Error::of_field("freeze_layers", fmt::format("found {}, wants at most {}",
                                                         *options_.freeze_layers, layers));
    }
    plan_ = FinetunePlan::make(options_, config, train_.records());
    options_.batch_size = plan_.batch_size;
    options_.learner.optimizer.learning_rate = plan_.learning_rate;
    const training::LearnerOptions learner = options_.learner_options(plan_.steps);
    files_ = training::ModelFiles::make(options_.model, config, HeadKind::vectors);
    add_modules(config);
    training::HeadPlan trunk;
    trunk.objective = HeadKind::vectors;
    trunk.dropout = options_.dropout_rates(config, trunk.objective);
    trunk.config = std::move(config);
    learner_ = std::make_unique<training::Learner>(
        std::make_unique<VectorNetwork>(std::move(trunk), task_, learner.bf16), learner);
    training::load_parameters(learner_->layout(), checkpoint.weights, learner.seed,
                              training::initializer_range(network().config()), learner_->values());
    for (training::Parameter& p : learner_->layout().parameters()) {
      const auto top = static_cast<double>(layers + 1);
      p.rate_scale = static_cast<float>(std::pow(options_.layer_decay, top - p.depth));
    }
    const size_t frozen = options_.freeze_layers.value_or(0);
    if (frozen > 0 || options_.freeze_embeddings) freeze(learner_->layout(), frozen);
  }

  void add_modules(const Config& config) {
    const NamedFiles more = modules_.present
                                ? model_files(options_.model)
                                : pooling_modules(config.hidden_size, pooling_.front());
    for (const auto& file : more) {
      const bool known = std::any_of(files_.files.begin(), files_.files.end(),
                                     [&](const auto& other) { return other.first == file.first; });
      if (!known) files_.files.push_back(file);
    }
  }

  const VectorNetwork& network() const {
    return static_cast<const VectorNetwork&>(learner_->network());
  }

  /// The largest batch of the first epoch.
  training::StepSize step_size() const {
    const std::vector<uint32_t> order = shuffled(train_.records(), options_.learner.seed, 0);
    training::StepSize size;
    size.sequences = std::min(options_.batch_size, order.size()) * train_.columns;
    size_t tokens = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % options_.batch_size == 0) tokens = 0;
      for (size_t c = 0; c < train_.columns; ++c) {
        const size_t length = train_.texts[order[i] * train_.columns + c].input_ids.size();
        tokens += length;
        size.longest = std::max(size.longest, length);
      }
      size.tokens = std::max(size.tokens, tokens);
    }
    return size;
  }

  training::RunOptions run_options() const {
    training::RunOptions run = options_.run_options("embed", plan_.steps);
    run.identity.merge(std::map<std::string, std::string>{
        {"examples", hash_text(train_.hash())},
        {"dev examples", dev_ ? hash_text(dev_->hash()) : "none"},
        {"loss", kLosses[static_cast<size_t>(loss())]},
        {"scale", fmt::format("{}", task_.loss.scale)},
        {"symmetric", task_.loss.symmetric ? "yes" : "no"},
        {"margin", fmt::format("{}", task_.loss.margin)},
        {"dims", fmt::format("{}", fmt::join(task_.dims, ","))},
        {"patience", std::to_string(options_.patience)},
        {"sequence", std::to_string(length_)},
        {"frozen layers", std::to_string(options_.freeze_layers.value_or(0))},
        {"frozen embeddings", options_.freeze_embeddings ? "yes" : "no"},
        {"layer decay", fmt::format("{}", options_.layer_decay)}});
    return run;
  }

  void note_epoch(Run& run) const {
    run.note("epoch loss", loss_);
    run.note("epoch count", count_);
    run.note("epoch right", right_);
    run.note("best", best_);
    run.notes()["waiting"] = std::to_string(waiting_);
  }

  bool run_epoch(Run& run, uint64_t epoch) {
    const std::vector<uint32_t> order = shuffled(train_.records(), options_.learner.seed, epoch);
    TrainingBatch batch;
    uint64_t at = learner_->steps() % plan_.steps_per_epoch;
    for (; at < plan_.steps_per_epoch && learner_->steps() < plan_.steps; ++at) {
      const size_t first = at * options_.batch_size;
      train_.fill(
          std::span(order).subspan(first, std::min(options_.batch_size, order.size() - first)),
          batch);
      note_epoch(run);  // should this step save
      const bool goes_on = run.step({&batch, 1}, [&](const training::StepResult& result) {
        loss_ += result.tally.sequence_loss;
        count_ += result.tally.sequences;
        right_ += static_cast<double>(result.tally.sequences_right);
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

  void head_row() const {
    if (!options_.on_row || learner_->steps() > 0) return;
    std::string row = "epoch\ttrain_loss\ttrain_accuracy";
    if (dev_) row += "\tdev_loss\tdev_" + vector_metric(loss());
    options_.on_row(row);
  }

  /// The vectors of all dev texts, and the mean loss of their records in batches of a step's size.
  double dev_vectors(Matrix vectors) {
    std::vector<uint32_t> all(dev_->records());
    for (uint32_t r = 0; r < all.size(); ++r) all[r] = r;
    TrainingBatch batch;
    dev_->fill(all, batch);
    learner_->vectors(batch, vectors);
    Tally tally;
    for (size_t first = 0; first < all.size(); first += options_.batch_size) {
      const size_t count = std::min(options_.batch_size, all.size() - first);
      dev_->fill(std::span(all).subspan(first, count), batch);
      tally +=
          network().judge(batch, vectors.slice(first * dev_->columns, count * dev_->columns), {});
    }
    return tally.loss();
  }

  void end_epoch(Run& run, uint64_t epoch) {
    const bool counts = loss() == nn::VectorLoss::ranking || loss() == nn::VectorLoss::triplet;
    std::string row = fmt::format("{}\t{:.6g}\t", epoch + 1, loss_ / count_);
    row += counts ? fmt::format("{:.6g}", right_ / count_) : "-";
    if (dev_) {
      Buffer buffer;
      const Matrix vectors = buffer.matrix(dev_->texts.size(), network().vector_size());
      const double dev_loss = dev_vectors(vectors);
      std::string report;
      const double score = vector_score(loss(), *dev_, vectors, report);
      run.dev_point(dev_loss, score);
      row += fmt::format("\t{:.6g}\t{}", dev_loss, number_text(score));
      keep_best(run, epoch, score, report);
    }
    loss_ = count_ = right_ = 0;
    note_epoch(run);
    run.checkpoint();
    if (options_.on_row) options_.on_row(row);
  }

  void keep_best(Run& run, uint64_t epoch, double score, const std::string& report) {
    ++waiting_;
    const double value = std::isnan(score) ? -1 : score;  // no correlation is the worst
    if (value <= best_) return;
    best_ = value;
    waiting_ = 0;
    run.notes()["best epoch"] = std::to_string(epoch + 1);
    run.notes()["best score"] = number_text(score);
    run.notes()["best report"] = report;
    run.export_model();
  }

  bool tell_end(Run& run) const {
    if (!dev_) {
      notice(fmt::format("the model after the last epoch is in {}", options_.output));
      return true;
    }
    notice(fmt::format("kept the model after epoch {} ({} of the dev records: {}) in {}",
                       run.notes()["best epoch"], vector_metric(loss()), run.notes()["best score"],
                       options_.output));
    if (options_.on_report) options_.on_report(run.notes()["best report"]);
    return true;
  }

  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  FinetuneOptions options_;  ///< with batch size and rate of the plan
  const SentenceModules modules_;
  std::vector<std::string> pooling_;
  training::VectorTask task_;
  size_t length_ = 0;  ///< tokens of a text
  VectorExamples train_;
  std::optional<VectorExamples> dev_;
  training::ModelFiles files_;
  std::unique_ptr<training::Learner> learner_;
  FinetunePlan plan_;
  double loss_ = 0, count_ = 0, right_ = 0;  ///< sums over this epoch's records so far
  double best_ = 0;
  size_t waiting_ = 0;
};

}  // namespace

bool train_vectors(const FinetuneOptions& options) { return VectorTraining(options).run(); }

}  // namespace bert
