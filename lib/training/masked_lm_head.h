#pragma once

#include <optional>
#include <vector>

#include "nn/bf16.h"
#include "training/head.h"
#include "training/text_head.h"
#include "training/transform_layer.h"

namespace bert::training {

/// The masked words of a text, and in pretraining whether its second part is the next sentence.
class MaskedLmHead : public Head {
 public:
  /// Rows of the logits [M, V] in memory at once.
  static constexpr size_t kDecoderRows = 512;

  MaskedLmHead(const HeadPlan& plan, const ModelWeights& weights, bool bf16);

  void add_losses(const HeadPass& pass, Tally& tally) override;

 private:
  /// The rows of hidden states that have a label [M, H]; none: without data.
  Matrix masked_rows(const HeadPass& pass);
  void add_masked(const HeadPass& pass, Tally& tally);
  /// x [n, H or E] -> logits [n, V], and the way back, which writes dx.
  void decode(ConstMatrix x, Matrix logits);
  void decode_backward(ConstMatrix x, ConstMatrix d, const ModelWeights& gradient, Matrix dx);

  std::optional<TextHead> next_sentence_;
  std::vector<int32_t> labels_;    ///< [M]
  std::vector<size_t> positions_;  ///< [M], the tokens
  TransformLayer transform_;
  Buffer rows_, logits_, d_normal_, d_rows_;
  nn::Bf16Products products_;
  nn::Bf16Products* const bf16_;
};

}  // namespace bert::training
