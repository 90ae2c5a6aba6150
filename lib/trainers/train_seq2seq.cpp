#include "trainers/train_seq2seq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "directory/model_files.h"
#include "trainers/held_out.h"
#include "trainers/seq2seq_start.h"
#include "trainers/supervised.h"
#include "training/run.h"

namespace bert {
namespace {

using training::Learner;
using training::Run;
using training::Tally;

constexpr double kNewRate = 1e-3, kOldRate = 5e-5;

class Seq2SeqTraining {
 public:
  explicit Seq2SeqTraining(const TrainSeq2SeqOptions& options) : options_(options) {
    check();
    std::vector<TextPair> train = read_pairs(options_.train);
    PairFiles dev_files = options_.train;
    dev_files.files = options_.dev;
    std::vector<TextPair> dev;
    if (const auto share = held_out_share(options_.dev)) {
      dev = hold_out(train, *share, options_.learner.seed);
      dev_files.files = options_.train.files;
    } else if (!options_.dev.empty()) {
      dev = read_pairs(dev_files);
    }
    Seq2SeqStart start = start_of(options_, train);
    train_ = encode_pairs(train, options_.train, *start.tokenizers, start.max_tokens);
    if (!dev.empty()) {
      dev_ = encode_pairs(dev, dev_files, *start.tokenizers, start.max_tokens);
      std::vector<uint32_t> all(dev_.size());
      std::iota(all.begin(), all.end(), 0u);
      dev_.fill(all, dev_batch_);
    }
    tell_data(start);
    make_learner(std::move(start));
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    best_ = run.noted("best", -INFINITY);
    best_loss_ = run.noted("best loss", INFINITY);
    if (dev_.size() > 0 && std::isfinite(best_)) check_kept(run);
    if (run.finished()) {
      tell_end(run);
      return true;
    }
    resume_sums(run);
    head_row();
    training::TrainingBatch batch;
    while (learner_->steps() < options_.steps) {
      next_batch(batch);
      note(run);  // should this step save
      const bool goes_on = run.step({&batch, 1}, [&](const training::StepResult& result) {
        tally_ += result.tally;
        const uint64_t step = learner_->steps();
        if (step % options_.eval_every == 0 || step == options_.steps) evaluate(run);
        note(run);
      });
      if (!goes_on) {
        run.checkpoint();
        return false;
      }
    }
    run.checkpoint();
    if (dev_.size() == 0) run.export_model();
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
    if (!(options_.teacher_forcing >= 0 && options_.teacher_forcing <= 1)) {
      refuse("teacher_forcing", options_.teacher_forcing, "a number from 0 to 1");
    }
    if (!(options_.label_smoothing >= 0 && options_.label_smoothing < 1)) {
      refuse("label_smoothing", options_.label_smoothing, "a number from 0 to below 1");
    }
    if (options_.model.empty() && options_.net == Seq2SeqNet::transformer &&
        (options_.heads == 0 || options_.hidden_size % options_.heads != 0)) {
      throw Error::of_field("heads", fmt::format("found {}, wants a divisor of the hidden size {}",
                                                 options_.heads, options_.hidden_size));
    }
    if (options_.model.empty() && options_.hidden_size % 2 != 0) {
      throw Error::of_field("hidden_size",
                            fmt::format("found {}, wants an even number", options_.hidden_size));
    }
  }

  void tell_data(const Seq2SeqStart& start) const {
    const auto faults = [&](const PairSet& set, const char* what) {
      for (const std::string& line : set.counts.lines(what)) notice(line);
    };
    faults(train_, "training texts");
    faults(dev_, "dev texts");
    std::string line =
        fmt::format("{} training pair{}", train_.size(), train_.size() == 1 ? "" : "s");
    if (dev_.size() > 0)
      line += fmt::format("; {} dev pair{}", dev_.size(), dev_.size() == 1 ? "" : "s");
    notice(line);
    notice(start.text);
  }

  void make_learner(Seq2SeqStart start) {
    training::LearnerOptions learner = options_.learner_options(options_.steps);
    if (!options_.rate_given) {
      learner.optimizer.learning_rate = options_.model.empty() ? kNewRate : kOldRate;
    }
    options_.learner = learner;
    files_.files = std::move(start.files);
    learner_ = std::make_unique<Learner>(std::move(start.network), learner);
    start.fill(learner_->layout(), learner_->values());
    size_t parameters = 0;
    for (const training::Parameter& p : learner_->layout().parameters()) parameters += p.size;
    notice(fmt::format("steps {}, batches of {}, learning rate {:.3g}, {} parameters",
                       options_.steps, options_.batch_size, learner.optimizer.learning_rate,
                       parameters));
    if (options_.on_memory) {
      options_.on_memory(learner_->bytes_to_come(step_size(), dev_.size() > 0));
    }
  }

  /// The largest batch of the first epoch.
  training::StepSize step_size() const {
    const std::vector<uint32_t> order = shuffled(train_.size(), options_.learner.seed, 0);
    training::StepSize size;
    size.sequences = std::min(options_.batch_size, order.size());
    size_t tokens = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % options_.batch_size == 0) tokens = 0;
      tokens += train_.tokens(order[i]);
      size.tokens = std::max(size.tokens, tokens);
      size.longest = std::max(
          {size.longest, train_.sources[order[i]].size(), train_.targets[order[i]].size()});
    }
    return size;
  }

  /// The batch of the next step: epochs are shuffled, each in its own order.
  void next_batch(training::TrainingBatch& batch) {
    const uint64_t per_epoch = (train_.size() + options_.batch_size - 1) / options_.batch_size;
    const uint64_t epoch = learner_->steps() / per_epoch;
    if (order_.empty() || epoch != epoch_) {
      order_ = shuffled(train_.size(), options_.learner.seed, epoch);
      epoch_ = epoch;
    }
    const size_t first = learner_->steps() % per_epoch * options_.batch_size;
    train_.fill(
        std::span(order_).subspan(first, std::min(options_.batch_size, order_.size() - first)),
        batch);
  }

  training::RunOptions run_options() const {
    constexpr const char* kUnits[] = {"characters", "words", "pieces"};
    training::RunOptions run = options_.run_options("seq2seq", options_.steps);
    run.identity.merge(std::map<std::string, std::string>{
        {"examples", hash_text(train_.hash())},
        {"dev examples", dev_.size() > 0 ? hash_text(dev_.hash()) : "none"},
        {"evaluation steps", dev_.size() > 0 ? std::to_string(options_.eval_every) : "none"},
        {"sequence", std::to_string(options_.max_length)},
        {"units",
         options_.model.empty() ? kUnits[static_cast<size_t>(options_.units)] : "the model's"},
        {"teacher forcing", fmt::format("{}", options_.teacher_forcing)},
        {"label smoothing", fmt::format("{}", options_.label_smoothing)}});
    return run;
  }

  void resume_sums(Run& run) {
    tally_ = {};
    tally_.token_loss = run.noted("loss sum");
    tally_.tokens = run.noted("token count");
    tally_.tokens_right = static_cast<size_t>(run.noted("right count"));
  }
  void note(Run& run) const {
    run.note("loss sum", tally_.token_loss);
    run.note("token count", tally_.tokens);
    run.note("right count", static_cast<double>(tally_.tokens_right));
    run.note("best", best_);
    run.note("best loss", best_loss_);
  }

  void head_row() const {
    if (!options_.on_row || learner_->steps() > 0) return;
    options_.on_row(std::string("step\ttrain_loss\ttrain_accuracy") +
                    (dev_.size() > 0 ? "\tdev_loss\tdev_accuracy\tdev_exact" : ""));
  }

  static double accuracy(const Tally& tally) {
    return static_cast<double>(tally.tokens_right) / tally.tokens;
  }

  void evaluate(Run& run) {
    std::string row = fmt::format("{}\t{:.6g}\t{:.6g}", learner_->steps(),
                                  tally_.token_loss / tally_.tokens, accuracy(tally_));
    tally_ = {};
    if (dev_.size() > 0) {
      const Tally dev = learner_->evaluate(dev_batch_);
      const double exact =
          static_cast<double>(dev.sequences_right) / static_cast<double>(dev_.size());
      run.dev_point(dev.loss(), exact);
      row += fmt::format("\t{:.6g}\t{:.6g}\t{:.6g}", dev.loss(), accuracy(dev), exact);
      if (std::pair(exact, -dev.loss()) > std::pair(best_, -best_loss_))
        keep(run, exact, dev.loss());
    }
    if (options_.on_row) options_.on_row(row);
  }
  void keep(Run& run, double exact, double loss) {
    best_ = exact;
    best_loss_ = loss;
    run.notes()["best step"] = std::to_string(learner_->steps());
    run.export_model();
  }

  /// Throws Error if the best model so far is missing: a checkpoint holds only the last one.
  void check_kept(Run& run) const {
    if (holds_model(options_.output)) return;
    throw Error(
        Error::Kind::no_input, options_.output,
        fmt::format("lacks model.safetensors: checkpoints do not hold the model of step {}, "
                    "the best so far; `overwrite` without `resume` begins anew",
                    run.notes()["best step"]));
  }

  void tell_end(Run& run) const {
    if (dev_.size() == 0) {
      notice(fmt::format("the model after the last step is in {}", options_.output));
      return;
    }
    notice(
        fmt::format("kept the model after step {} (exact match of the dev targets: {:.6g}) in {}",
                    run.notes()["best step"], best_, options_.output));
  }

  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  TrainSeq2SeqOptions options_;  ///< with the rate that was chosen
  PairSet train_, dev_;
  training::TrainingBatch dev_batch_;
  training::ModelFiles files_;
  std::unique_ptr<Learner> learner_;
  std::vector<uint32_t> order_;  ///< order of the pairs in epoch_
  uint64_t epoch_ = 0;
  Tally tally_;  ///< since the last row
  double best_ = 0, best_loss_ = 0;
};

}  // namespace

bool train_seq2seq(const TrainSeq2SeqOptions& options) { return Seq2SeqTraining(options).run(); }

}  // namespace bert
