#pragma once

#include <optional>
#include <string>

#include "predict/late_texts.h"
#include "predict/opened_model.h"
#include "predict/vectors.h"

namespace bert {

/// Which of a model's vectors is wanted. What is not said is the model's own.
struct VectorChoice {
  std::string pool = {}, layers = {};  ///< as of VectorPlan::make
  bool words = false;                  ///< a vector for each word, whatever `pool` says
  size_t dims = 0;                     ///< the first numbers of a vector; 0: all
};

/// Gives texts the vectors that the files of a model's directory describe: of a model with layers,
/// or static ones.
class BERT_API Embedder {
 public:
  /// Borrows the model. Throws Error if its tokenizer is none for the modules.
  Embedder(const OpenedModel& model, SentenceModules modules);
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const OpenedModel& model() const { return model_; }
  const SentenceModules& modules() const { return modules_; }
  const Tokenizer& tokenizer() const { return late_ ? late_->tokenizer : model_.tokenizer(); }
  /// What stands before each text if the user names no prompt.
  std::string prompt() const { return late_ ? late_->prompt : modules_.prompt(); }
  /// Throws Error(usage) for a choice that does not fit the model. It also decides how texts are
  /// read: call it before what follows.
  VectorPlan plan(const VectorChoice& choice);
  /// How texts are read, behind this prompt.
  ReadOptions reading(const std::string& prompt) const;
  /// What computes the vectors of the plan that the first call names. It opens the dense layers.
  const VectorPredictor& predictor(const VectorPlan& plan);

 private:
  const OpenedModel& model_;
  const SentenceModules modules_;
  std::optional<VectorPredictor> predictor_;
  /// How a model of late interaction reads documents, if vectors of tokens are wanted.
  std::optional<LateSide> late_;
};

}  // namespace bert
