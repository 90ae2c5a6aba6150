#pragma once

#include <functional>
#include <span>
#include <vector>

#include "directory/sentence_modules.h"
#include "predict/masks.h"
#include "predict/sequences.h"

namespace bert {

/// What gives each text a sparse vector of the vocabulary. One per thread.
class BERT_API SparseVectors {
 public:
  virtual ~SparseVectors() = default;
  virtual void use_team(Team* team) = 0;
  /// Calls use(text, weights [V]) for texts 0 .. texts - 1, in order.
  using Use = std::function<void(size_t text, std::span<const float> weights)>;
  virtual void predict(const Sequences& sequences, size_t texts, const Use& use) = 0;
};

/// Sparse vectors of the vocabulary (SPLADE; Formal et al. 2021), from the logits of a masked LM
/// head at all tokens, special ones included. A text in several windows has of each vocabulary
/// entry the largest weight of the windows.
///
/// One per thread.
class BERT_API SparsePredictor : public SparseVectors {
 public:
  /// Borrows model and head.
  SparsePredictor(const Model& model, const MaskedLM& head, const SpladePooling& pooling,
                  size_t max_batch_tokens)
      : vocab_size_(model.config().vocab_size),
        pooling_(pooling),
        queries_(model, head, max_batch_tokens) {}
  void use_team(Team* team) override { queries_.use_team(team); }

  void predict(const Sequences& sequences, size_t texts, const Use& use) override;

 private:
  void ask_all(const Sequences& sequences);
  float weight(float logit) const;
  void add_token(std::span<const float> logits);
  void end_window();

  const size_t vocab_size_;  ///< V
  const SpladePooling pooling_;
  MaskQueries queries_;
  std::vector<float> window_;  ///< [V] of the window that comes in: largest logits, or sums
  std::vector<float> text_;    ///< [V] the largest weights of the text's windows before it
  std::vector<WantedRow> wanted_;
};

}  // namespace bert
