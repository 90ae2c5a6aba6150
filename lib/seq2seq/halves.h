#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "checkpoint/tensor_files.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "model/seq2seq_config.h"

namespace bert {

/// The files of an encoder-decoder model, and its halves as models of their own.
struct BERT_API Halves {
  Seq2SeqConfig config;
  TensorFiles files;  ///< from which the halves borrow
  std::optional<Weights> encoder, decoder;

  /// Throws Error naming the file.
  static Halves open(const ModelDirectory& directory);
  /// A tensor by its file's name; nullptr if there is none.
  const TensorView* find(const std::string& name) const;
};

/// Tensors of these files with elements that are no numbers.
std::vector<NonFinite> non_finite(const TensorFiles& files);

}  // namespace bert
