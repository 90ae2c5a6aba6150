#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "directory/model_files.h"
#include "tokenizer/translation_tokenizers.h"
#include "trainers/train_seq2seq.h"
#include "trainers/translation_pairs.h"
#include "training/network.h"

namespace bert {

/// What a run of train-seq2seq begins with: a new model or one that was trained before.
struct Seq2SeqStart {
  std::unique_ptr<const training::Network> network;
  /// Draws or loads all tensors. Call it while the network lives.
  std::function<void(const training::Layout& layout, float* values)> fill;
  NamedFiles files;  ///< files of the directory, without the weights
  std::optional<TranslationTokenizers> tokenizers;
  size_t max_tokens = 0;  ///< most tokens of a source or target, its end token included
  std::string text;       ///< what the network is, for a notice
};

/// Throws Error. `train`: what a new model's units are learned from.
Seq2SeqStart start_of(const TrainSeq2SeqOptions& options, std::span<const TextPair> train);

}  // namespace bert
