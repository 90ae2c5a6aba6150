#pragma once

#include <memory>
#include <optional>
#include <string>

#include "directory/model_directory.h"
#include "seq2seq/decoder.h"

namespace bert {

/// A pair of recurrent nets (Sutskever et al. 2014). The encoder's last state is the decoder's
/// first. With attention (Bahdanau et al. 2014), the decoder's hidden state before a step is the
/// query, the encoder's outputs are keys and values, and the attention vector goes into the step
/// beside the token that the decoder reads.
class RecurrentPair : public Seq2Seq {
 public:
  /// Throws Error naming file and reason: no_input, data, unsupported.
  static std::unique_ptr<RecurrentPair> open(const ModelDirectory& directory,
                                             std::optional<Precision> precision = {});
  ~RecurrentPair() override;

  const GenerationConfig& generation() const override;
  Precision precision() const override;
  size_t max_source_tokens() const override;
  size_t max_target_tokens() const override;
  size_t source_vocab_size() const override;
  const OutputLayer& output() const override;
  size_t attention_layers() const override;
  size_t attention_heads() const override;
  std::unique_ptr<Decoding> start() const override;
  void teach(const PackedBatch& sources, const PackedBatch& targets, Matrix hidden, Team* team,
             const AttentionTrace* trace) const override;
  void ablate(std::span<const HeadPlace> heads) override;
  void hold() const override;
  const std::string& path() const override;
  std::vector<NonFinite> non_finite() const override;

 private:
  struct State;
  struct Sources;
  class Live;
  RecurrentPair();
  std::unique_ptr<State> state_;
};

}  // namespace bert
