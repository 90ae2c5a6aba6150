#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weights_writer.h"
#include "directory/model_directory.h"
#include "model/config.h"
#include "training/learner.h"
#include "training/parameters.h"

namespace bert::training {

/// The small files of a model directory: config.json of the new model, and the tokenizer's files
/// unchanged.
struct ModelFiles {
  std::vector<std::pair<std::string, std::string>> files;  ///< name, content
  /// If head_name is not empty, the result is this head added to a copy of the model `source`, and
  /// head_files are the small files of that copy.
  std::string head_name;
  ModelDirectory source;
  std::shared_ptr<const StoredTurns> turns;  ///< angles of the model, which stay
  std::string turns_name;                    ///< their name in the new file
  std::string adapter;  ///< adapter_config.json, if the result is an adapter (adapter_files.h)
  std::vector<std::pair<std::string, std::string>> head_files;

  /// The tokenizer's files in `directory`, and its config.json with the changes of training:
  /// architectures for `objective`, labels and problem_type of `config`, float32.
  static ModelFiles make(const ModelDirectory& directory, const Config& config,
                         Objective objective);
  /// The same for several heads. The first head without a name becomes the head that transformers
  /// sees. Heads with a name are listed in `bertutils_heads` (bert-model(5)).
  static ModelFiles make(const ModelDirectory& directory, std::span<const HeadPlan> heads);
  void add_head(const ModelDirectory& directory, const std::string& name, const Config& config,
                Objective objective);
};

/// The state of a run in a checkpoint: steps done, and notes of the caller.
struct RunState {
  uint64_t step = 0;
  std::map<std::string, std::string> notes;
};

/// The entries of config.json for a trained head: architectures, labels, problem_type.
HeadConfig head_config(const Config& config, Objective objective);

/// Adds tensors of the array at `base`. `kept` holds what the writer borrows.
void add_tensors(std::span<const FileTensor> tensors, const float* base, WeightsWriter& writer,
                 std::list<std::vector<float>>& kept);

/// Writes the model as a Hugging Face directory, each file whole or not at all. The weights come
/// last: without them, no tool takes the directory for a model.
void save_model(Learner& learner, const ModelFiles& files, const std::string& directory);

/// The same for the result of training. With files.head_name, writes a copy of the model
/// files.source with its tensors unchanged, and adds or replaces this head. The head gets its own
/// copy of all tensors that were trained, and shares the frozen ones with the trunk.
void export_model(Learner& learner, const ModelFiles& files, const std::string& directory);

/// Saves model, moments and state as `directory`/step-N, whole or not at all. Then keeps the newest
/// `keep` checkpoints, and this one in any case, and removes the others. Removes nothing if saving
/// fails.
void save_checkpoint(Learner& learner, const ModelFiles& files, const RunState& state,
                     const std::string& directory, size_t keep);

/// The steps of the checkpoints in `directory`, oldest first.
std::vector<uint64_t> saved_steps(const std::string& directory);

/// Reads only the state of step-N. Throws Error(data).
RunState read_state(const std::string& directory, uint64_t step);

/// Loads step-N into the learner: parameters, moments and steps. Throws Error(data) that names the
/// file or tensor, if the content is damaged (its hash differs) or is of another model.
RunState load_checkpoint(Learner& learner, const std::string& directory, uint64_t step);

/// DIRECTORY/training.json says that a run was done, whose checkpoints are gone: the state of its
/// end. Reading throws Error(data); without the file it gives none.
void write_finished(const RunState& state, const std::string& directory);
std::optional<RunState> read_finished(const std::string& directory);
void remove_finished(const std::string& directory);

/// Removes the unfinished files of a killed run. Call it only under the run's lock.
void remove_unfinished(const std::string& directory);

}  // namespace bert::training
