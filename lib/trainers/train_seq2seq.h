#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/recurrent_config.h"
#include "tokenizer/train/train_pieces.h"
#include "trainers/training_job.h"
#include "trainers/translation_pairs.h"

namespace bert {

/// The networks that read a source and write a target.
enum class Seq2SeqNet { transformer, rnn, gru, lstm };

/// An empty `model`: from scratch.
struct TrainSeq2SeqOptions : TrainingJob {
  PairFiles train;
  std::vector<std::string> dev;  ///< files like the training ones; empty: the last model is kept
  uint64_t steps = 2000;
  uint64_t eval_every = 500;

  // Of a model from scratch:
  Seq2SeqNet net = Seq2SeqNet::transformer;
  RecurrentAttention attention = RecurrentAttention::additive;  ///< kind in recurrent nets
  Units units = Units::character;
  size_t vocab_size = 8000;  ///< units of sources, and of targets, at most
  size_t layers = 0;  ///< layers of the encoder, and of the decoder; 0: 2, in recurrent nets 1
  size_t hidden_size = 64;
  size_t heads = 4;
  size_t intermediate_size = 0;  ///< 0: four times hidden_size
  size_t max_length = 0;         ///< tokens of a source or target; 0: 512, or the model's

  double teacher_forcing = 1;  ///< probability that the decoder reads the target's own last token
  double label_smoothing = 0;
};

/// Trains a network on pairs of a source and a target, and writes a model directory: of a
/// Transformer one of Marian's, which transformers loads. With dev pairs, it is the model that
/// writes most dev targets exactly; of equal ones that with the lower dev loss. Returns false when
/// it was asked to stop (a checkpoint is saved). Throws Error.
bool train_seq2seq(const TrainSeq2SeqOptions& options);

}  // namespace bert
