#include "trainers/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "io/mapped_file.h"
#include "metrics/metrics.h"
#include "trainers/supervised.h"

namespace bert {
namespace {

using training::Run;
using training::Tally;

class Epochs {
 public:
  explicit Epochs(FinetuneTask& task)
      : task_(task),
        options_(task.options()),
        learner_(task.learner()),
        plan_(task.plan()),
        period_(options_.eval_every > 0 ? options_.eval_every : plan_.steps_per_epoch),
        measure_(chosen_measure(options_.metric, task.measures())),
        run_(learner_, task.files(), task.run_options()) {
    best_ = run_.noted("best", -INFINITY);
    waiting_ = static_cast<size_t>(run_.noted("waiting"));
    tally_.sequence_loss = run_.noted("epoch loss");
    tally_.sequences = run_.noted("epoch count");
    tally_.labelled = run_.noted("epoch labelled", tally_.sequences);
    right_ = run_.noted("epoch right");
  }

  bool run() {
    if (task_.has_dev() && std::isfinite(best_)) check_kept();
    if (!run_.finished()) {
      write_names();
      if (tally_.sequences > 0 && at_end()) end_epoch();  // saved before the end was dealt with
      while (learner_.steps() < plan_.steps && !waited_enough()) {
        if (!step()) return false;
        if (at_end()) end_epoch();
      }
      if (!task_.has_dev()) export_model();
      run_.finish();
    }
    tell_end();
    return true;
  }

 private:
  bool at_end() const { return learner_.steps() % period_ == 0 || learner_.steps() == plan_.steps; }
  const char* unit() const { return options_.eval_every > 0 ? "step" : "epoch"; }
  /// What a row shows: the loss has a column of its own.
  std::string shown_measure() const {
    return measure_ == "loss" ? task_.measures().front() : measure_;
  }
  /// Exchanges the model and its average, if there is one.
  void exchange_average() {
    if (learner_.steps() == 0 || !learner_.average().values()) return;
    learner_.average().exchange(learner_.values());
    task_.network().settle(learner_.values(), learner_.first_moments(), learner_.team());
  }
  /// Writes the model, or its average.
  void export_model() {
    exchange_average();
    task_.complete();
    run_.export_model();
    exchange_average();
  }
  bool waited_enough() const { return options_.patience > 0 && waiting_ >= options_.patience; }

  /// Throws Error if the best model so far is missing. It stands in the directory: a checkpoint
  /// holds only the last model.
  void check_kept() {
    std::string missing;
    const training::ModelFiles& files = task_.files();
    auto names = files.head_name.empty() ? files.files : files.head_files;
    names.emplace_back(file_names::kSafetensors, "");
    if (!files.adapter.empty()) {
      names = {{std::string(file_names::kAdapter), ""}, {std::string(Adapter::kWeights), ""}};
    }
    for (const auto& [name, content] : names) {
      if (!file_exists(options_.output + "/" + name)) missing += name + ", ";
    }
    if (missing.empty()) return;
    missing.resize(missing.size() - 2);
    throw Error(Error::Kind::no_input, options_.output,
                fmt::format("lacks {}: checkpoints do not hold the model of {} {}, the best so "
                            "far; `overwrite` without `resume` begins anew",
                            missing, unit(), run_.notes()["best epoch"]));
  }

  void note_epoch() {
    run_.note("epoch loss", tally_.sequence_loss);
    run_.note("epoch count", tally_.sequences);
    run_.note("epoch labelled", tally_.labelled);
    run_.note("epoch right", right_);
    run_.note("best", best_);
    run_.notes()["waiting"] = std::to_string(waiting_);
  }

  /// False if the run is to stop; a checkpoint is saved then.
  bool step() {
    const uint64_t at = learner_.steps() % plan_.steps_per_epoch;
    if (at == 0 || order_.empty()) {
      order_ = shuffled(task_.examples(), options_.learner.seed,
                        learner_.steps() / plan_.steps_per_epoch);
    }
    const size_t first = at * options_.batch_size;
    const size_t count = std::min(options_.batch_size, order_.size() - first);
    task_.fill(std::span(order_).subspan(first, count), batch_);
    note_epoch();  // should this step save
    const bool goes_on = run_.step({&batch_, 1}, [&](const training::StepResult& result) {
      const Tally& tally = result.tally;
      tally_.sequence_loss += tally.token_loss + tally.sequence_loss;
      tally_.sequences += tally.tokens + tally.sequences;
      tally_.labelled += tally.labelled;
      right_ += static_cast<double>(tally.tokens_right + tally.sequences_right);
      note_epoch();
    });
    if (!goes_on) run_.checkpoint();
    return goes_on;
  }

  void write_names() const {
    if (!options_.on_row || learner_.steps() > 0) return;
    std::string row = fmt::format("{}\ttrain_loss\ttrain_accuracy", unit());
    if (task_.has_dev()) row += "\tdev_loss\tdev_" + shown_measure();
    options_.on_row(row);
  }

  void end_epoch() {
    const uint64_t number = options_.eval_every > 0
                                ? learner_.steps()
                                : (learner_.steps() - 1) / plan_.steps_per_epoch + 1;
    std::string row = fmt::format("{}\t{:.6g}\t", number, tally_.sequence_loss / tally_.sequences);
    row += task_.has_accuracy() ? fmt::format("{:.6g}", right_ / tally_.labelled) : "-";
    if (task_.has_dev()) {
      exchange_average();
      const DevScore dev = task_.score();
      exchange_average();
      check_finite(dev.loss);
      const double shown = dev.measure(shown_measure(), task_.measures().front());
      run_.dev_point(dev.loss, shown);
      row += fmt::format("\t{:.6g}\t{}", dev.loss, number_text(shown));
      keep_best(number, dev);
    }
    tally_ = {};
    right_ = 0;
    note_epoch();
    run_.checkpoint();
    if (options_.on_row) options_.on_row(row);
  }

  /// Nothing is lost: the best model and the last checkpoint stay.
  void check_finite(double dev_loss) const {
    if (std::isfinite(dev_loss)) return;
    throw Error(Error::Kind::data, "",
                fmt::format("step {}: the loss of the {} is {}: training has diverged; try a lower "
                            "learning rate",
                            learner_.steps(), task_.dev_noun(), dev_loss));
  }

  void keep_best(uint64_t number, const DevScore& dev) {
    ++waiting_;
    const double measured = dev.measure(measure_, task_.measures().front());
    double value = std::isnan(measured) ? -1 : measured;  // no correlation is the worst
    if (lower_is_better(measure_)) value = -value;
    if (value <= best_) return;
    best_ = value;
    waiting_ = 0;
    run_.notes()["best epoch"] = std::to_string(number);
    run_.notes()["best score"] = number_text(measured);
    run_.notes()["best report"] = dev.report;
    export_model();
    if (!options_.dump.empty()) write_dev_lines(dev.lines, task_.dev_texts(), options_.dump);
  }

  /// Which model it is that stands there now.
  void tell_end() {
    if (!task_.has_dev()) {
      return task_.notice(fmt::format("the model after the last epoch is in {}", options_.output));
    }
    const std::string score = run_.notes()["best score"];
    task_.notice(fmt::format("kept the model after {} {} ({} of the {}: {}) in {}", unit(),
                             run_.notes()["best epoch"], measure_, task_.dev_noun(), score,
                             options_.output));
    if (score == "nan") {
      task_.notice("no correlation: the dev labels, or what the model says of them, do not vary");
    }
    if (options_.on_report) options_.on_report(run_.notes()["best report"]);
  }

  FinetuneTask& task_;
  const FinetuneOptions& options_;
  training::Learner& learner_;
  const FinetunePlan& plan_;
  const uint64_t period_;      ///< steps between rows
  const std::string measure_;  ///< what the best model is best by
  Run run_;
  std::vector<uint32_t> order_;  ///< this epoch's examples
  training::TrainingBatch batch_;
  Tally tally_;  ///< sums since the last row
  double right_ = 0;
  double best_ = 0;
  size_t waiting_ = 0;  ///< rows without a better score
};

}  // namespace

bool run_epochs(FinetuneTask& task) { return Epochs(task).run(); }

}  // namespace bert
