#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "predict/batcher.h"
#include "predict/dense_modules.h"
#include "predict/sequences.h"
#include "predict/vector_plan.h"

namespace bert {

class VectorScratch;

/// Whether all numbers are finite.
BERT_API bool is_finite(std::span<const float> vector);

/// Vectors of texts (sentence-transformers; Reimers and Gurevych 2019), of a model's layers or
/// static ones. What reads the texts is a TextReader with reading()'s options.
///
/// Thread rule: const; each thread has a VectorScratch.
class BERT_API VectorPredictor {
 public:
  /// Borrows tokenizer and model. Throws Error naming a file of the dense modules.
  VectorPredictor(const Tokenizer& tokenizer, const Model& model, VectorPlan plan)
      : tokenizer_(tokenizer),
        model_(&model),
        plan_(std::move(plan)),
        tokens_(plan_.token_layers),
        dense_(plan_.dense) {}
  VectorPredictor(const Tokenizer& tokenizer, const StaticText& fixed, VectorPlan plan)
      : tokenizer_(tokenizer),
        fixed_(&fixed),
        plan_(std::move(plan)),
        tokens_(plan_.token_layers),
        dense_(plan_.dense) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const VectorPlan& plan() const { return plan_; }
  size_t width() const { return plan_.width(); }

  /// The vectors [texts, width()] of texts 0 .. texts - 1, which the sequences are of, dense, in
  /// scratch until the next call. The windows of a long text are averaged by their tokens.
  Matrix predict(const Sequences& sequences, size_t texts, VectorScratch& scratch) const;

  /// Calls use(first, batch, hidden, states) for each batch, whose first sequence is `first`:
  /// hidden [T, H] of the last layer computed, empty of static vectors; states [T, features] what
  /// is pooled.
  using UseStates =
      std::function<void(size_t first, const PackedBatch& batch, Matrix hidden, Matrix states)>;
  void for_each_batch(const Sequences& sequences, VectorScratch& scratch,
                      const UseStates& use) const;
  /// From what was pooled [n, pooled_width()] to vectors [n, width()], whose rows may be further
  /// apart than they are long.
  Matrix finish(Matrix pooled, VectorScratch& scratch) const;
  /// Whether a token has no say and no vector.
  bool is_left_out(int32_t id) const { return fixed_ != nullptr && id == fixed_->left_out; }

 private:
  void for_each_static(const Sequences& sequences, VectorScratch& scratch,
                       const UseStates& use) const;
  void fill_static(const PackedBatch& batch, Matrix states) const;
  void pool_static(const Sequences& sequences, Matrix pooled, VectorScratch& scratch) const;
  void pool_windows(const Sequences& sequences, Matrix pooled, VectorScratch& scratch) const;
  Matrix pool_whole(const PackedBatch& batch, Matrix hidden, VectorScratch& scratch) const;
  size_t pooled_tokens(size_t tokens) const;

  const Tokenizer& tokenizer_;
  const Model* model_ = nullptr;
  const StaticText* fixed_ = nullptr;
  const VectorPlan plan_;
  const DenseModules tokens_, dense_;
};

/// The memory of one thread for vectors.
class BERT_API VectorScratch {
 public:
  /// Borrows the batcher. `reading`: how the texts are read.
  VectorScratch(const VectorPredictor& predictor, const ReadOptions& reading, Batcher& batcher);

  /// Tokens of the prompt at the begin of a sequence: [CLS] counts, [SEP] does not.
  size_t prompt_tokens() const { return prompt_tokens_; }
  size_t prompt_bytes() const { return prompt_bytes_; }

 private:
  friend class VectorPredictor;
  size_t prompt_tokens_ = 0, prompt_bytes_ = 0;
  Batcher& batcher_;
  Buffer states_;  ///< [T, features] the combined layers of a batch
  Buffer pooled_, first_, second_, whitened_;
  Buffer tokens_, more_tokens_;  ///< [T, width] behind layers over tokens
  std::vector<float> one_;       ///< [pooled_width()] of a sequence
};

}  // namespace bert
