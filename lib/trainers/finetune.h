#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/rank_loss.h"
#include "nn/vector_loss.h"
#include "trainers/examples.h"
#include "trainers/supervised.h"
#include "trainers/training_job.h"

namespace bert {

/// What vectors of texts learn.
struct VectorOptions {
  nn::VectorLossPlan loss;           ///< but for its columns, which the examples decide
  std::vector<size_t> dims;          ///< Matryoshka: lengths whose first numbers learn, too
  std::string teacher_vectors;       ///< a file with a vector for each training text
  std::vector<std::string> prompts;  ///< names: before the first text, and before the others; one:
                                     ///< before all; empty: the model's default
  bool scale_given = false;
  size_t dense = 0;        ///< the width of a new Dense module; 0: none is added
  bool of_tokens = false;  ///< a text has the vectors of its tokens (ColBERT)
};

struct FinetuneOptions : TrainingJob {
  HeadKind task = HeadKind::classify;
  std::string head;  ///< name of a head to add to a copy of the model; empty: a model of its own
  ExampleOptions train;             ///< files, fields and kind of labels
  std::vector<std::string> dev;     ///< files like the training ones; empty: the last model is kept
  std::vector<std::string> labels;  ///< in the order of their ids; empty: those of the model if it
                                    ///< knows all that occur, else those that occur, sorted
  size_t max_length = 0;            ///< 0: the model's
  std::optional<double> epochs;     ///< none: by the number of examples (FinetunePlan)
  std::vector<double> class_weights;    ///< empty: none
  bool balanced = false;                ///< class weights from the labels' frequencies
  std::optional<size_t> freeze_layers;  ///< the lowest blocks, and the embeddings, stay as they
                                        ///< are; else all for a head, none for a model
  bool freeze_embeddings = false;
  /// A BiLSTM between the model's layers, which stay as they are, and the classifier of tokens;
  /// without units: none.
  BilstmConfig bilstm;
  double layer_decay = 1;  ///< the learning rate of each layer is that of the next times this
  /// What a classifier reads: as `attn`, attentive pooling with so many hops (Lin et al. 2017); as
  /// `cls`, the first token's state. "": what the model's own classifier reads.
  std::string pool;
  std::optional<size_t> hops;  ///< hops of attn; none: the model's, or 1
  double hop_penalty = 0;      ///< factor of |A A^T - I|^2 in a text's loss, with attn
  VectorOptions vectors;       ///< with task `vectors`
  nn::RankLoss rank_loss = nn::RankLoss::binary;  ///< what a cross-encoder learns
  size_t negatives = 4;        ///< texts of other queries that a query draws, with loss `ranking`
  size_t seeds = 1;            ///< runs, seed by seed
  size_t patience = 0;         ///< rows without a better score before it ends; 0: never early
  std::string metric;          ///< what the best model is best by (measures_of()); "": the usual
  uint64_t eval_every = 0;     ///< steps between rows, each with a score; 0: those of an epoch
  size_t accumulate = 1;       ///< batches whose gradients are one step's
  double label_smoothing = 0;  ///< share of the target that all labels have
  training::LowRankPlan lora;  ///< what learns instead of the layers; of rank 0: the layers do
  bool merge = false;          ///< with lora: write the whole model, not an adapter
  std::string teacher;         ///< a model whose logits are learned, too; "": none
  double temperature = 2;      ///< divides the logits that are compared
  double teacher_share = 0.5;  ///< what the teacher is of the loss; the labels are the rest
  std::string dump;  ///< file for the dev examples of the kept model, worst first; "": none

  /// Sets class_weights and balanced from "balanced" or numbers with commas between; "": none.
  /// Throws Error (`class_weights`), also where the task has none.
  void set_class_weights(const std::string& text);
};

/// Trains a model for a task on labelled examples and writes it as a Hugging Face directory: the
/// epoch that does best on the dev examples. Returns false when it was asked to stop (a checkpoint
/// is saved). Throws Error.
bool finetune(const FinetuneOptions& options);

}  // namespace bert
