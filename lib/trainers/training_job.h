#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "directory/checkpoint.h"
#include "directory/model_directory.h"
#include "training/learner.h"
#include "training/parameters.h"
#include "training/run.h"

namespace bert {

/// What all kinds of training are told.
struct TrainingJob {
  ModelDirectory model;    ///< to start from
  std::string output;      ///< directory to write
  size_t batch_size = 32;  ///< sequences in a step
  training::LearnerOptions learner;
  bool batch_given = false, rate_given = false;  ///< by the user: no task chooses better ones
  std::optional<double> dropout;                 ///< rate; none: config.json's
  double warmup_ratio = 0.1;  ///< part of the steps in which the learning rate rises
  bool resume = false, overwrite = false;
  uint64_t save_every = 0;         ///< steps; 0: only when it ends
  size_t keep_checkpoints = 2;     ///< the newest, while it runs; 0: one
  bool leave_checkpoints = false;  ///< they stay when it is done
  const std::atomic<int>* stop = nullptr;
  std::function<void(const training::StepReport&)> on_step;
  std::function<void(const std::string&)> on_notice;
  /// Hears, before the first step, of the bytes that training will want beyond those in use.
  std::function<void(size_t)> on_memory;
  /// Rows of results; the first one names the columns.
  std::function<void(const std::string&)> on_row;
  /// A table about the model that was kept.
  std::function<void(const std::string&)> on_report;

  /// Throws Error (`learning_rate`) unless the rate is above 0.
  void check_learning_rate() const;
  /// The learner's options for a run of so many steps.
  training::LearnerOptions learner_options(uint64_t steps) const;
  training::DropoutRates dropout_rates(const Config& config, training::Objective objective) const {
    return dropout ? training::DropoutRates::all(*dropout)
                   : training::DropoutRates::of(config, objective);
  }
  /// What a run of `task` needs. Its identity holds what all kinds of training share; the caller
  /// adds what else decides the steps, the data above all.
  training::RunOptions run_options(const std::string& task, uint64_t steps) const;
};

/// The model to start from: with the head of this name, if it has one. Throws Error (`head`) if
/// that is no name for a head, or names one for another task.
Checkpoint open_start(const ModelDirectory& model, const std::string& head, HeadKind kind);

/// Freezes the embeddings and the lowest `layers` layers.
void freeze(training::Layout& layout, size_t layers);

/// The length of a text in tokens. Throws Error (`max_length`) unless it is 8 to the model's
/// positions.
size_t checked_length(size_t length, const Config& config);

std::string hash_text(uint64_t hash);

/// Of the content of those that are regular files; a pipe can be read only once.
uint64_t files_hash(const std::vector<std::string>& files);
/// Of a file, not_found if there is none. Throws Error if it cannot be told.
std::filesystem::file_type file_type(const std::string& file);
/// Of all files that stand directly in it.
uint64_t directory_hash(const std::string& directory);

}  // namespace bert
