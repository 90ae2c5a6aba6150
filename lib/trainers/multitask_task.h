#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encoder/model.h"
#include "trainers/examples.h"
#include "trainers/multitask.h"
#include "trainers/pretraining_stream.h"
#include "trainers/supervised.h"
#include "trainers/task_list.h"
#include "training/evaluation.h"

namespace bert {

/// One task of multitask's list: its examples, and its batch of each step. For one thread.
class Task {
 public:
  /// Reads the task's files. Throws Error.
  Task(TaskLine line, const Config& config, const Tokenizer& tokenizer,
       const MultitaskOptions& options);

  const training::HeadPlan& head() const { return head_; }
  /// No text need be as long as it may.
  training::StepSize step_size() const;
  /// What a user should see of its data before the first step.
  std::vector<std::string> describe(const Tokenizer& tokenizer) const;
  /// The same of a text, which is known only when it was read.
  std::vector<std::string> describe_read() const;
  /// Whether the model has this head with other labels.
  bool relabelled() const { return relabelled_; }
  std::string name() const { return line_.supervised() ? line_.name : kind_name(line_.kind); }
  bool trains_vectors() const { return line_.kind == HeadKind::vectors; }

  /// What decides its batches, for the run's.
  std::map<std::string, std::string> identity() const;

  /// The batch of step `step`, which follow one another. False: a text has ended that cannot be
  /// read again.
  bool fill(uint64_t step, size_t index, training::TrainingBatch& batch);
  const PretrainingStream& stream() const { return *stream_; }

  /// Before step `step`, which is not before the last one.
  void go_to(uint64_t step);

  /// Of the text of a stream that was read so far.
  std::string text_read() const { return stream_ ? hash_text(stream_->hash()) : "none"; }

  /// The names of its scores, and the scores, separated by tabs.
  std::string metric() const;
  std::string score(training::BertLearner& learner, size_t index);

 private:
  void read_text(const Tokenizer& tokenizer, const MultitaskOptions& options);
  void read_held_out(const Tokenizer& tokenizer, PretrainingStream::Options data);
  void open_teacher();
  /// Those of the head that the model has, where they fit.
  void set_labels(KeptRecords& kept);
  /// Examples [step, step + 1) * batch of the endless sequence of shuffled epochs.
  void choose(uint64_t step);
  void fill_from(const ExampleSet& set, std::span<const uint32_t> order,
                 training::TrainingBatch& batch);

  TaskLine line_;
  training::HeadPlan head_;
  uint64_t seed_;
  bool relabelled_ = false;
  ExampleSet train_, dev_;
  std::vector<uint32_t> order_, chosen_;
  uint64_t epoch_ = 0;
  std::optional<PretrainingStream> stream_;
  uint64_t next_step_ = 0;
  training::TrainingBatch held_out_;
  TextCounts dev_counts_;  ///< sums over the held-out sentences
  std::optional<Model> teacher_;
  Workspace workspace_;
};

}  // namespace bert
