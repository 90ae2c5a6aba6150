#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/config.h"
#include "training/learner.h"

namespace bert::training {

/// The small files of a model directory: config.json of the model being made, and the tokenizer's
/// files as they are.
struct ModelFiles {
  std::vector<std::pair<std::string, std::string>> files;  ///< name, content
  /// Where the result is to be a head of this name beside those that `source` has: the files of
  /// that directory. Empty: it is a model of its own.
  std::string head_name, source;
  std::vector<std::pair<std::string, std::string>> head_files;

  /// The tokenizer's files in `directory`, and its config.json with what training changes:
  /// architectures for `objective`, labels and problem_type of `config`, float32.
  static ModelFiles make(const std::string& directory, const Config& config, Objective objective);
  /// The same for several heads: the first without a name is the model transformers sees, those
  /// with one are listed in `bertutils_heads` (bert-model(5)).
  static ModelFiles make(const std::string& directory, std::span<const HeadPlan> heads);
  void add_head(const std::string& directory, const std::string& name, const Config& config,
                Objective objective);
};

/// What a run must know to go on: steps done, and what the caller notes.
struct RunState {
  uint64_t step = 0;
  std::map<std::string, std::string> notes;
};

/// What config.json says of a head that is trained: architectures, labels, problem_type.
HeadConfig head_config(const Config& config, Objective objective);

/// What transformers' pipelines call the task of a head: text-classification ..
std::string_view task_of(Objective objective);

/// Writes the model as a Hugging Face directory, each file whole or not at all, the weights last:
/// until they are there, no tool takes it for a model.
BERT_API void save_model(Learner& learner, const ModelFiles& files, const std::string& directory);

/// The same for the result of the training: with files.head_name a copy of files.source, its
/// tensors as they are, to which this head is added, or replaced; what was trained is its own, what
/// was frozen stays the trunk's.
BERT_API void export_model(Learner& learner, const ModelFiles& files, const std::string& directory);

/// Saves model, moments and state as `directory`/step-N, whole or not at all; then removes all but
/// the newest `keep` others. Nothing is removed when saving fails.
BERT_API void save_checkpoint(Learner& learner, const ModelFiles& files, const RunState& state,
                              const std::string& directory, size_t keep);

/// Steps saved in `directory`, oldest first.
BERT_API std::vector<uint64_t> saved_steps(const std::string& directory);

/// What step-N notes, before anything else of it is read. Throws Error(data).
BERT_API RunState read_state(const std::string& directory, uint64_t step);

/// Loads step-N: parameters, moments and steps of the learner. Throws Error(data) if the content is
/// damaged (it is hashed) or is of another model, naming the tensor or the note.
BERT_API RunState load_checkpoint(Learner& learner, const std::string& directory, uint64_t step);

/// Removes what a killed run left unfinished. Only under its lock.
BERT_API void remove_unfinished(const std::string& directory);

}  // namespace bert::training
