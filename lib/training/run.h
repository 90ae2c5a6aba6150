#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/output_file.h"
#include "training/learner.h"
#include "training/saving.h"

namespace bert::training {

struct StepReport {
  uint64_t step = 0;  ///< steps done
  uint64_t total = 0;
  StepResult result;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

struct RunOptions {
  std::string directory;
  bool resume = false;     ///< continue from the newest intact checkpoint, if there is one
  bool overwrite = false;  ///< start a new run also if the directory has a model
  uint64_t total_steps = 0;
  uint64_t save_every = 0;  ///< steps; 0: only when the caller calls checkpoint()
  size_t keep = 2;          ///< checkpoints during the run; 0: one
  bool leave = false;       ///< finish() leaves these checkpoints
  std::map<std::string, std::string> identity;  ///< settings that a resumed run must keep
  const std::atomic<int>* stop = nullptr;       ///< not 0: the caller should save and end
  std::function<void(const StepReport&)> on_step;
  std::function<void(const std::string&)> on_notice;
};

/// A training run in a directory:
///   DIRECTORY/{config.json, model.safetensors, ...}  the model, after export_model()
///   DIRECTORY/checkpoints/step-N                     what a resumed run needs
///   DIRECTORY/training.json                          the settings of a run that is done, in place
///                                                    of its checkpoints
///   DIRECTORY/loss.tsv, loss.svg                     a row for each step: step, loss, rate,
///                                                    gradient norm, tokens; rows of their own for
///                                                    dev loss and score; the same as a picture
///   DIRECTORY/.lock                                  held while a process trains here
///
/// A resumed run gives the same bits as a run that never stopped.
class Run {
 public:
  /// Locks the directory, and resumes if asked to. Throws Error, also if the directory has a model
  /// that the options do not allow to replace.
  Run(Learner& learner, ModelFiles files, RunOptions options);
  ~Run();

  /// One step with all batches; calls `done` before it saves a checkpoint. False if `stop` was set:
  /// the caller then saves a checkpoint and ends.
  bool step(std::span<const TrainingBatch> batches,
            const std::function<void(const StepResult&)>& done = {});
  /// Adds a point to the curve: loss and score of the dev examples after the last step.
  void dev_point(double loss, double score);
  /// Saves a checkpoint now. A full disk gives a notice and the run goes on; finish() throws if no
  /// later checkpoint could be saved.
  void checkpoint();
  /// Writes the model into the directory.
  void export_model();
  /// Draws loss.svg and removes the checkpoints unless they are to stay. Throws the error of the
  /// last checkpoint, if it was to stay but could not be saved.
  void finish();
  /// Whether the run that was to be resumed was done, so that there is nothing to do.
  bool finished() const { return finished_; }

  /// Notes of the caller in each checkpoint: its place in the data, the best result so far.
  std::map<std::string, std::string>& notes() { return state_.notes; }
  void note(const std::string& key, double value);
  /// If the run was resumed, throws Error(data) if its checkpoint noted another value.
  void must_be(const std::string& key, const std::string& value);
  double noted(const std::string& key, double absent = 0) const;

 private:
  void resume();
  bool resume_finished();
  void tell_done() const;
  void begin_curve();
  void open_curve();
  void append_row(const std::string& row);
  void notice(const std::string& message) const {
    if (options_.on_notice) options_.on_notice(message);
  }

  Learner& learner_;
  ModelFiles files_;
  RunOptions options_;
  RunState state_;
  OutputDirectory directory_;
  FileLock lock_;
  std::optional<Error> save_failure_;  ///< what kept the last checkpoint from being saved
  bool finished_ = false;
  int curve_ = -1;
  uint64_t dev_step_ = 0;  ///< step of the last dev point in the curve
  std::chrono::steady_clock::time_point begin_;
  uint64_t begin_step_ = 0;
  double recent_seconds_ = 0, recent_tokens_ = 0;
};

}  // namespace bert::training
