#pragma once

#include <vector>

#include "encoder/packed_batch.h"
#include "model/config.h"
#include "nn/attention_gradient.h"
#include "training/convolution_gradient.h"
#include "training/distance_gradient.h"
#include "training/parameters.h"
#include "training/pass_order.h"
#include "training/position_bias_gradient.h"
#include "training/sublayers.h"

namespace bert::training {

/// The rates and the key of dropout; a rate of 0 means none.
struct DropoutPlan {
  float hidden = 0;       ///< hidden_dropout_prob: embeddings, both dense outputs of a layer
  float attention = 0;    ///< attention_probs_dropout_prob
  float classifier = 0;   ///< classifier_dropout: the input of a classifier
  uint64_t key = 0;       ///< made of seed and step
  size_t token_0 = 0;     ///< number of the batch's first token in the step
  size_t sequence_0 = 0;  ///< number of its first sequence

  /// The dropout at one site (0 .. 15) of one layer.
  nn::Dropout at(float rate, size_t layer, uint64_t site, size_t row_0) const {
    return {rate, mix(key, layer * 16 + site), row_0};
  }
};

/// One layer, with what its forward pass keeps.
struct EncoderLayer {
  AttentionSublayer attention;
  FeedForwardSublayer net;
  BottleneckLayer bottleneck;  ///< in place of the two, in MobileBERT
  DistanceTerms distances;     ///< what attention adds in DeBERTa
  ConstMatrix input;           ///< [T, H] before the two
  Matrix attended;             ///< [T, H] between them
  ConstMatrix output;          ///< [T, H] behind them, and behind the convolution or the final norm
};

/// The encoder of encoder/model.h for training: a forward pass that keeps all activations, and the
/// backward pass. A test checks that the hidden states of both are equal.
///
/// Thread rule: one Encoder per thread. Threads share the weights, which must not change during a
/// pass.
class Encoder {
 public:
  /// `bf16`: computes all products in bfloat16; needs Bf16Products::available().
  Encoder(const Config& config, const ModelWeights& weights, bool bf16 = false)
      : config_(config),
        form_{norm_plan(config), config.family->norms, config.hidden_act, config.family->gated},
        weights_(weights),
        convolution_(config),
        distances_(config),
        bf16_(bf16 ? &products_ : nullptr) {
    scratch_.bf16 = bf16_;
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// The hidden states of the last layer [T, H], valid until the next call. `batch` must live until
  /// backward().
  ConstMatrix forward(const PackedBatch& batch, const DropoutPlan& dropout);

  /// The hidden states [T, H] behind layer `layer` of that pass; 0: the embeddings.
  ConstMatrix layer(size_t layer) const;

  /// Adds to `gradient` from d_hidden [T, H], which it overwrites, for depths from `lowest` up (0
  /// embeddings, 1 .. L layers).
  /// Takes its turn for each sublayer.
  void backward(Matrix d_hidden, const ModelWeights& gradient, int32_t lowest, const Turn& turn);

 private:
  Matrix add_up();
  void add_places(Matrix sum);
  Matrix three_words();
  void scale_words();
  Matrix embed();
  ConstMatrix block(size_t index, ConstMatrix hidden);
  void block_backward(size_t index, Matrix d, const ModelWeights& gradient, const Turn& turn);
  void embed_backward(Matrix d, const ModelWeights& gradient);
  void add_places_backward(Matrix d, const ModelWeights& gradient);
  void words_backward(Matrix d, const ModelWeights& gradient);
  template <typename Use>
  void for_each_word(Use use) const;
  nn::AttentionPlan attention_plan(size_t index);
  Turns turns(size_t index) const;
  nn::Dropout dropout_at(size_t layer, uint64_t site) const;
  bool projects_first() const {
    const Family& family = *config_.family;
    return weights_.projection.weight.data && (family.projects_first || family.trigrams);
  }
  Matrix view(const Buffer& buffer, size_t columns) const {
    return {buffer.data(), batch_->tokens(), columns};
  }

  const Config& config_;
  const SublayerForm form_;
  const ModelWeights& weights_;
  const PackedBatch* batch_ = nullptr;
  DropoutPlan dropout_;
  std::vector<int32_t> position_rows_;  ///< [T], of the position table
  PositionBias position_bias_;
  std::vector<float> word_scales_;  ///< [T] factors of the word vectors; empty: 1
  Buffer embedding_sum_, embedding_statistics_, embedded_, projected_;
  ConstMatrix embedding_;  ///< [T, H] before the first layer
  ConvolutionSublayer convolution_;
  DistanceVectors distances_;
  Buffer normal_, final_statistics_;  ///< output of the final norm, and what it keeps
  ConstMatrix last_;                  ///< [T, H] before it
  std::vector<EncoderLayer> layers_;
  SublayerScratch scratch_;
  Buffer d_embedded_, d_words_;
  nn::Bf16Products products_;
  nn::Bf16Products* const bf16_;
};

}  // namespace bert::training
