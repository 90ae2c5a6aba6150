#pragma once

#include <optional>
#include <vector>

#include "heads/classification.h"
#include "predict/batcher.h"
#include "predict/opened_model.h"
#include "predict/sequences.h"
#include "predict/vectors.h"

namespace bert {

/// What becomes of a cross-encoder's logits.
enum class ScoreKind {
  own,  ///< as the model's files say
  logit,
  sigmoid,
};

/// Scores of a cross-encoder (Nogueira and Cho 2019), which reads query and text as one pair: the
/// logit of a classifier with one output, as CrossEncoder of sentence-transformers computes it, or
/// its sigmoid. Instead of a classifier the directory may have modules: a pooling, and layers whose
/// last has one output. The score of a text in several windows is that of its best window (MaxP,
/// Dai and Callan 2019). A large language model, read as an encoder, has no classifier: the score
/// is the logit of one token behind the text that its chat template makes of the pair, less that of
/// another (Qwen3-Reranker 2025); a text that is too long is cut.
///
/// Thread rule: const; each thread has a Batcher.
class BERT_API CrossEncoder {
 public:
  /// Opens the head of the model, which it borrows. Throws Error: data if there is none,
  /// unsupported for another activation.
  CrossEncoder(const OpenedModel& model, ScoreKind kind);

  /// Throws Error(unsupported) for several outputs.
  void check() const;
  /// How pairs are read.
  const ReadOptions& reading() const { return reading_; }
  /// Sets scores [texts].
  void predict(const Sequences& sequences, size_t texts, Batcher& batcher,
               std::vector<double>& scores) const;

 private:
  void open_modules(SentenceModules modules);
  void open_logits(const SentenceModules& modules);
  void run_logits(const Sequences& sequences, Batcher& batcher, std::vector<double>& scores) const;
  void add_logits(const Sequences& sequences, size_t first, ConstMatrix logits,
                  std::vector<double>& scores) const;
  void run_modules(const Sequences& sequences, Batcher& batcher, std::vector<double>& scores) const;

  const OpenedModel& model_;
  std::optional<Classifier> head_;          ///< or ...
  std::optional<VectorPredictor> modules_;  ///< vectors of one number
  std::optional<PairText> pairs_;           ///< or ...
  std::vector<float> words_;                ///< [1 or 2, H]: the decoder's rows of the score
  ReadOptions reading_;
  bool sigmoid_ = false;
};

}  // namespace bert
