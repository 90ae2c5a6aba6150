#include "trainers/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
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
      if (!task_.has_dev()) run_.export_model();
      run_.finish();
    }
    tell_end();
    return true;
  }

 private:
  bool at_end() const {
    return learner_.steps() % plan_.steps_per_epoch == 0 || learner_.steps() == plan_.steps;
  }
  bool waited_enough() const { return options_.patience > 0 && waiting_ >= options_.patience; }

  /// Throws Error if the best model so far is missing. It stands in the directory: a checkpoint
  /// holds only the last model.
  void check_kept() {
    std::string missing;
    const training::ModelFiles& files = task_.files();
    auto names = files.head_name.empty() ? files.files : files.head_files;
    names.emplace_back(file_names::kSafetensors, "");
    for (const auto& [name, content] : names) {
      if (!file_exists(options_.output + "/" + name)) missing += name + ", ";
    }
    if (missing.empty()) return;
    missing.resize(missing.size() - 2);
    throw Error(Error::Kind::no_input, options_.output,
                fmt::format("lacks {}: checkpoints do not hold the model of epoch {}, the best so "
                            "far; `overwrite` without `resume` begins anew",
                            missing, run_.notes()["best epoch"]));
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
    std::string row = "epoch\ttrain_loss\ttrain_accuracy";
    if (task_.has_dev()) row += "\tdev_loss\tdev_" + task_.metric();
    options_.on_row(row);
  }

  void end_epoch() {
    const uint64_t epoch = (learner_.steps() - 1) / plan_.steps_per_epoch + 1;
    std::string row = fmt::format("{}\t{:.6g}\t", epoch, tally_.sequence_loss / tally_.sequences);
    row += task_.has_accuracy() ? fmt::format("{:.6g}", right_ / tally_.labelled) : "-";
    if (task_.has_dev()) {
      const DevScore dev = task_.score();
      run_.dev_point(dev.loss, dev.value);
      row += fmt::format("\t{:.6g}\t{}", dev.loss, number_text(dev.value));
      keep_best(epoch, dev);
    }
    tally_ = {};
    right_ = 0;
    note_epoch();
    run_.checkpoint();
    if (options_.on_row) options_.on_row(row);
  }

  void keep_best(uint64_t epoch, const DevScore& dev) {
    ++waiting_;
    const double value = std::isnan(dev.value) ? -1 : dev.value;  // no correlation is the worst
    if (value <= best_) return;
    best_ = value;
    waiting_ = 0;
    run_.notes()["best epoch"] = std::to_string(epoch);
    run_.notes()["best score"] = number_text(dev.value);
    run_.notes()["best report"] = dev.report;
    run_.export_model();
  }

  /// Which model it is that stands there now.
  void tell_end() {
    if (!task_.has_dev()) {
      return task_.notice(fmt::format("the model after the last epoch is in {}", options_.output));
    }
    const std::string score = run_.notes()["best score"];
    task_.notice(fmt::format("kept the model after epoch {} ({} of the {}: {}) in {}",
                             run_.notes()["best epoch"], task_.metric(), task_.dev_noun(), score,
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
  Run run_;
  std::vector<uint32_t> order_;  ///< this epoch's examples
  training::TrainingBatch batch_;
  Tally tally_;  ///< sums since the last row
  double right_ = 0;
  double best_ = 0;
  size_t waiting_ = 0;  ///< epochs without a better score
};

}  // namespace

bool run_epochs(FinetuneTask& task) { return Epochs(task).run(); }

}  // namespace bert
