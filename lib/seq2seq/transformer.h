#pragma once

#include <memory>
#include <optional>
#include <string>

#include "directory/model_directory.h"
#include "seq2seq/decoder.h"

namespace bert {

/// The encoder-decoder Transformer (Vaswani et al. 2017): Marian's, or an encoder and a decoder of
/// BERT's family (Rothe et al. 2020, bert2bert).
class Transformer : public Seq2Seq {
 public:
  static std::unique_ptr<Transformer> open(const ModelDirectory& directory,
                                           std::optional<Precision> precision = {});
  ~Transformer() override;

  const GenerationConfig& generation() const override;
  Precision precision() const override;
  size_t max_source_tokens() const override;
  size_t max_target_tokens() const override;
  size_t source_vocab_size() const override;
  const OutputLayer& output() const override;
  size_t attention_layers() const override;
  size_t attention_heads() const override;
  void ablate(std::span<const HeadPlace> heads) override;
  std::unique_ptr<Decoding> start() const override;
  void teach(const PackedBatch& sources, const PackedBatch& targets, Matrix hidden, Team* team,
             const AttentionTrace* trace) const override;
  void hold() const override;
  const std::string& path() const override;
  std::vector<NonFinite> non_finite() const override;

 private:
  struct State;
  class Cached;
  Transformer();
  std::unique_ptr<State> state_;
};

}  // namespace bert
