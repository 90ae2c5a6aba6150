#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/seq2seq_config.h"
#include "training/network.h"
#include "training/parameters.h"
#include "training/target_loss.h"

namespace bert::training {

/// How an encoder-decoder Transformer learns.
struct TransformerPlan {
  Seq2SeqConfig config;
  TargetPlan target;
  DropoutRates dropout;
  bool bf16 = false;  ///< products in bfloat16
};

/// The encoder-decoder Transformer (Vaswani et al. 2017) as a Network: Marian's, as transformers'
/// MarianMTModel is in training. Norms stand behind the sublayers, positions are sinusoids; one
/// table of word vectors serves sources, targets and the output layer, so its gradient comes from
/// three places, unless the config has tables of their own. A source or a target ends with its end
/// token.
///
/// With teacher forcing one pass computes all tokens of a target. Where the decoder reads its own
/// words (TargetPlan::teacher_forcing below 1), passes are repeated until these words no longer
/// change: they are then those of a decoder that writes word by word.
class TransformerNetwork : public Network {
 public:
  /// Throws Error(unsupported) if the config is not Marian's.
  explicit TransformerNetwork(TransformerPlan plan);

  const TransformerPlan& plan() const { return plan_; }

  /// Copies the tensors of a model's halves into `base`. Throws Error(data) that names a tensor
  /// that is missing or has another shape.
  void load(const Weights& encoder, const Weights& decoder, const Layout& layout,
            float* base) const;

  Layout layout() const override;
  std::unique_ptr<Lane> lane(const Layout& layout, float* values, float* gradient) const override;
  void check(const TrainingBatch& batch) const override;
  Tally count(const TrainingBatch& batch) const override { return count_targets(batch); }
  double cost(const TrainingBatch& batch, size_t s) const override;
  size_t pass_floats(size_t tokens, size_t longest) const override;

 private:
  TransformerPlan plan_;
};

}  // namespace bert::training
