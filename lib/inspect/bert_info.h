#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "io/rows.h"
#include "model/config.h"

namespace bert {

/// A model directory as bert-info looks at it: the config, and the weights if there are any.
struct BERT_API ModelFiles {
  ModelDirectory directory;
  Config config;
  std::optional<Weights> weights;

  /// Throws Error as ModelDirectory::config and open_weights do; no weights at all are no error.
  static ModelFiles open(const ModelDirectory& directory);
};

/// The heads whose tensors a checkpoint has: pooler, masked_lm, next_sentence, classifier,
/// token_classifier, question_answering, discriminator.
std::vector<std::string> heads_of(const Weights& weights, const Config& config);

/// key value
BERT_API void write_summary(const ModelFiles& model, Rows& rows);
/// tensor shape count; the last row is the total. Without weights, the encoder the config
/// describes.
BERT_API void write_parameters(const ModelFiles& model, Rows& rows);
/// As write_summary and write_parameters, of a model that translates (model/seq2seq_config.h). The
/// parameters are those of its files. Throws Error as these do when they are opened.
BERT_API void write_seq2seq_summary(const ModelDirectory& directory, Rows& rows);
BERT_API void write_seq2seq_parameters(const ModelDirectory& directory, Rows& rows);
/// key value: what this machine computes with.
BERT_API void write_cpu(Rows& rows);

}  // namespace bert
