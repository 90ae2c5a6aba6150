#pragma once

#include <optional>
#include <string>
#include <vector>

#include "directory/model_files.h"
#include "directory/sentence_modules.h"
#include "predict/late_texts.h"
#include "trainers/finetune.h"
#include "training/vector_network.h"

namespace bert {

/// What makes vectors of a model's hidden states while they learn, and how it is written: the
/// modules of the directory that training starts from, and new ones.
struct VectorModules {
  std::vector<std::string> pooling;  ///< names; empty: a text has the vectors of its tokens
  std::vector<training::ModulePlan> token_layers, dense;
  bool normalize = false;
  bool mean_of_tokens = false;              ///< a score is divided by the number of query tokens
  std::optional<LateSide> query, document;  ///< how vectors of tokens read texts
  NamedFiles files;                         ///< all but config.json, the tokenizer's and weights

  /// Throws Error(unsupported) for vectors that are not trained.
  static VectorModules make(const FinetuneOptions& options, const SentenceModules& modules,
                            const Config& config, const Tokenizer& tokenizer);
  bool of_tokens() const { return pooling.empty(); }
  /// Sets poolings, modules and norm of the task.
  void settle(training::VectorTask& task) const;
  /// Sets the modules' tensors among `values`.
  void load(const training::Layout& layout, uint64_t seed, float* values) const;

 private:
  void keep(const FinetuneOptions& options, const SentenceModules& modules, const Config& config);
  void begin_tokens(const FinetuneOptions& options, const Config& config,
                    const Tokenizer& tokenizer);
  void begin_dense(size_t width, const Config& config);
  void leave_weights();
};

}  // namespace bert
