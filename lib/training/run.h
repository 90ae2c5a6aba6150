#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/export.h"
#include "io/output_file.h"
#include "training/learner.h"
#include "training/saving.h"

namespace bert::training {

struct StepReport {
  uint64_t step = 0;  ///< done
  uint64_t total = 0;
  StepResult result;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

struct RunOptions {
  std::string directory;
  bool resume = false;     ///< go on from the newest checkpoint that is whole, if there is one
  bool overwrite = false;  ///< begin anew where a model stands already
  uint64_t total_steps = 0;
  uint64_t save_every = 0;  ///< steps; 0: only when the caller says, and on stop
  size_t keep = 2;          ///< checkpoints; 0: one, and none when the run is finished
  std::map<std::string, std::string> identity;  ///< what a checkpoint must agree in
  const std::atomic<int>* stop = nullptr;       ///< not 0: save and end
  std::function<void(const StepReport&)> on_step;
  std::function<void(const std::string&)> on_notice;
};

/// A training run in a directory:
///   DIRECTORY/{config.json, model.safetensors, ..}  the model, when export_model() was called
///   DIRECTORY/checkpoints/step-N                    what it takes to go on
///   DIRECTORY/loss.tsv                              step, loss, rate, gradient norm, tokens; dev
///                                                   loss and score in rows of their own
///   DIRECTORY/.lock                                 held by the one process that trains here,
///   which
///                                                   removes it
///
/// A resumed run continues to the last bit as if it had never stopped.
class BERT_API Run {
 public:
  /// Locks the directory; resumes, or refuses to overwrite a model. Throws Error.
  Run(Learner& learner, ModelFiles files, RunOptions options);
  ~Run();

  /// One step of all batches; calls `done` before anything is saved. False when it was asked to
  /// stop: the caller saves a checkpoint and ends.
  bool step(std::span<const TrainingBatch> batches,
            const std::function<void(const StepResult&)>& done = {});
  /// A point of the curve: loss and score of dev examples after the last step.
  void dev_point(double loss, double score);
  /// Saves one now. A full disk is told and survived; finish() then throws if no later save worked.
  void checkpoint();
  /// Puts the model at its place.
  void export_model();
  /// Draws the curve; throws what kept the last checkpoint from being saved.
  void finish();

  /// Words that checkpoints carry along: where the caller is in its data, the best result so far.
  std::map<std::string, std::string>& notes() { return state_.notes; }
  void note(const std::string& key, double value);
  /// Of a resumed run: throws Error(data) if the checkpoint noted another value.
  void must_be(const std::string& key, const std::string& value);
  double noted(const std::string& key, double absent = 0) const;

 private:
  void resume();
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
  std::exception_ptr save_failure_;
  int curve_ = -1;
  uint64_t dev_step_ = 0;  ///< of the last dev point in the curve
  std::chrono::steady_clock::time_point begin_;
  uint64_t begin_step_ = 0;
  uint64_t tokens_ = 0;
  double recent_seconds_ = 0, recent_tokens_ = 0;
};

/// "step TAB loss .." lines drawn as an SVG picture, smoothed, and the dev losses among them as
/// points.
std::string loss_svg(std::string_view curve);

}  // namespace bert::training
