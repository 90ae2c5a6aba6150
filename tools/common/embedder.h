#pragma once

#include <optional>
#include <string>

#include "common/options.h"
#include "predict/late_texts.h"
#include "predict/vectors.h"

namespace bert::tools {

/// --pool, --layers, --dims: which vector of a text, for all tools that read vectors.
struct VectorOptions {
  std::string pool, layers;
  size_t dims = 0;
};
void add_vector_options(Command& app, VectorOptions& options);

/// An opened model that gives a text its vector: one with layers, or static vectors.
class Embedder {
 public:
  explicit Embedder(const ModelOptions& models);
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const SentenceModules& modules() const { return modules_; }
  const Model* model() const { return model_ ? &*model_ : nullptr; }
  const Tokenizer& tokenizer() const { return late_ ? late_->tokenizer : tokenizer_; }
  /// What stands before each text if the user names no prompt.
  std::string prompt() const { return late_ ? late_->prompt : modules_.prompt(); }
  /// `pool` in place of that of the options, unless empty. Throws Error(usage) for options that do
  /// not fit the model. It also decides how texts are read: call it before what follows.
  VectorPlan plan(const VectorOptions& options, const std::string& pool = "");
  /// The options of a task, as ModelOptions::fill sets them, with this prompt.
  TaskOptions task(const std::string& prompt) const;
  /// What computes the vectors of the plan that the first call names. It opens the dense layers.
  const VectorPredictor& predictor(const VectorPlan& plan);

 private:
  const ModelOptions& models_;
  SentenceModules modules_;
  Tokenizer tokenizer_;
  std::optional<Model> model_;
  std::optional<StaticText> fixed_;
  std::optional<VectorPredictor> predictor_;
  /// Of a model of late interaction whose vectors of tokens are wanted: how documents are read.
  std::optional<LateSide> late_;
};

}  // namespace bert::tools
