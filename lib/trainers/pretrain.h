#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainers/pretraining_stream.h"
#include "trainers/training_job.h"

namespace bert {

/// An empty `model`: from scratch.
struct PretrainOptions : TrainingJob {
  std::string config, vocab;              ///< from scratch: config.json and vocab.txt
  bool cased = false;                     ///< from scratch: the vocabulary is
  bool add_mlm = false, add_nsp = false;  ///< heads that may be drawn anew
  /// The name of a masked LM head to add to a copy of the model, or to train further, as in
  /// FinetuneOptions; nothing else is trained. Empty: a model of its own.
  std::string head;
  std::optional<size_t> freeze_layers;  ///< as in FinetuneOptions
  PretrainingStream::Options data;
  std::vector<std::string> dev;
  size_t dev_sequences = 512;
  uint64_t steps = 10000;
  uint64_t eval_every = 500;

  /// How many of so many layers are frozen, with the embeddings; none: not even these.
  std::optional<size_t> frozen(size_t layers) const;
};

/// Trains masked LM and next sentence prediction on plain text (Devlin et al. 2019) and writes a
/// Hugging Face directory. Returns false when it was asked to stop. Throws Error.
bool pretrain(const PretrainOptions& options);

}  // namespace bert
