#pragma once

#include <memory>
#include <span>
#include <vector>

#include "checkpoint/weights.h"
#include "encoder/embedding.h"
#include "encoder/norm.h"
#include "encoder/packed_batch.h"
#include "encoder/position_bias.h"
#include "model/config.h"
#include "seq2seq/decoder_layer.h"

namespace bert {

class AttentionCollector;

/// Keys and values [T, 2AD] that each layer of a decoder has made of some sources, side by side.
struct SourcePairs {
  Buffer pairs;              ///< [L, T, 2AD]
  size_t tokens = 0;         ///< T
  size_t width = 0;          ///< 2AD
  std::vector<size_t> ends;  ///< [S + 1]: the tokens of source s are [ends[s], ends[s + 1])

  void places(size_t layer, size_t source, std::vector<const float*>& keys) const {
    const float* base = pairs.data() + layer * tokens * width;
    for (size_t t = ends[source]; t < ends[source + 1]; ++t) keys.push_back(base + t * width);
  }
};

/// The decoder of an encoder-decoder Transformer without its output layer: embedding, blocks, and
/// the norm behind them where norms stand before.
///
/// Thread rule: const after load() and ablate(); one scratch per thread.
class DecoderStack {
 public:
  DecoderStack() = default;
  /// Throws Error(data) naming a tensor.
  static DecoderStack load(const Config& config, const Weights& weights, Precision precision);

  const Config& config() const { return config_; }
  size_t width() const { return config_.hidden_size; }  ///< H
  size_t pair_width() const { return 2 * config_.num_attention_heads * config_.head_size(); }
  size_t layers() const { return layers_.size(); }
  /// From here on this head makes zeros of the source.
  void ablate(size_t layer, size_t head) { layers_.at(layer).ablate(head); }

  /// What the layers look at of sources: their states [T, H], and where each ends.
  std::shared_ptr<const SourcePairs> read(ConstMatrix states, std::span<const size_t> ends,
                                          LinearScratch& scratch) const;
  /// The blocks' input [R, H] of tokens at their places. Throws Error(data) for an id outside the
  /// vocabulary and a place behind the last.
  void embed(std::span<const int32_t> ids, std::span<const size_t> places, Matrix out,
             Buffer& buffer, LinearScratch& scratch) const;
  /// Block `layer`: hidden [R, H] in place.
  void run(size_t layer, Matrix hidden, const DecoderLayer::Rows& rows,
           DecoderScratch& scratch) const {
    layers_[layer].forward(hidden, rows, scratch);
  }
  /// The norm behind the last block: hidden [R, H] in place.
  void finish(Matrix hidden) const {
    if (final_norm_) final_norm_(hidden, hidden);
  }
  /// All tokens of the targets in one go: hidden [T, H]. Target s belongs to source s. `collector`
  /// may be nullptr.
  void teach(const SourcePairs& sources, const PackedBatch& targets, Matrix hidden,
             DecoderScratch& scratch, AttentionCollector* collector = nullptr) const;

 private:
  void check_token(int32_t id, size_t place) const;

  Config config_;
  Embedding embedding_;
  std::vector<std::shared_ptr<const BucketBias>> biases_;
  std::vector<DecoderLayer> layers_;
  Norm final_norm_;
};

}  // namespace bert
