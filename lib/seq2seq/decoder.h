#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"
#include "encoder/model.h"
#include "encoder/packed_batch.h"
#include "model/generation_config.h"
#include "ops/linear.h"
#include "ops/matrix.h"
#include "seq2seq/output_layer.h"

namespace bert {

class Team;

/// What one head of a decoder did with one source: n target tokens looked at m source tokens.
struct AttentionView {
  size_t sequence = 0;  ///< number in the batch
  size_t layer = 0;     ///< from 0
  size_t head = 0;      ///< from 0
  ConstMatrix scores;   ///< [n, m] what softmax sees
  ConstMatrix weights;  ///< [n, m] their softmax; rows add up to 1
  ConstMatrix context;  ///< [n, D] the weighted sums of the source's values
};

/// Which heads are shown, and to whom. Sequences come in order, each with its layers and heads.
struct AttentionTrace {
  std::function<bool(size_t layer, size_t head)> wants;
  std::function<void(const AttentionView&)> show;
};

/// Live hypotheses of several sources: the states of their decoder. Hypotheses may be of different
/// lengths. What a hypothesis computes depends on its source and its tokens only: its bits are the
/// same whatever other hypotheses live.
///
/// Thread rule: used by one thread, which may have a team.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// One more hypothesis for each source, behind those that live, with no tokens. Throws
  /// Error(data) if an id is outside the vocabulary or a source too long.
  virtual void add(const PackedBatch& sources) = 0;
  /// How many live.
  virtual size_t rows() const = 0;
  /// Hypothesis i reads tokens[i]; its first token is the start token. hidden [rows, D] is what the
  /// output layer makes the logits of the next token of.
  virtual void step(std::span<const int32_t> tokens, Matrix hidden) = 0;
  /// From here on hypothesis i is what hypothesis rows[i] was. One may be taken several times
  /// (beams) or not at all (then it ends).
  virtual void select(std::span<const size_t> rows) = 0;
  /// Threads that share its products; nullptr: this thread alone.
  virtual void use_team(Team* team) = 0;
};

/// A model that reads a source and writes a target token by token: an encoder-decoder Transformer
/// (Vaswani et al. 2017) or a pair of recurrent nets (Sutskever et al. 2014, Bahdanau et al. 2014).
///
/// Thread rule: const after open() and ablate(), shared by threads; each has a Decoding of its own.
class BERT_API Seq2Seq {
 public:
  /// The model of a directory, computed in this precision. Throws Error naming file and reason.
  static std::unique_ptr<Seq2Seq> open(const ModelDirectory& directory,
                                       std::optional<Precision> precision = {});
  virtual ~Seq2Seq() = default;

  virtual const GenerationConfig& generation() const = 0;
  virtual Precision precision() const = 0;
  /// How many tokens a source, and a target with its start token, may have; SIZE_MAX: any number.
  virtual size_t max_source_tokens() const = 0;
  virtual size_t max_target_tokens() const = 0;
  /// Ids of sources are below this; those of targets below output().size().
  virtual size_t source_vocab_size() const = 0;
  virtual const OutputLayer& output() const = 0;
  /// Layers and heads that look at the source; 0: the decoder sees one vector of it.
  virtual size_t attention_layers() const = 0;
  virtual size_t attention_heads() const = 0;

  /// Turns off heads of attention to the source from here on: what they sum up counts as zeros.
  virtual void ablate(std::span<const HeadPlace> heads) = 0;
  /// A Decoding without hypotheses.
  virtual std::unique_ptr<Decoding> start() const = 0;
  /// Teacher forcing: all tokens of the targets in one go. Target s (its start token first, without
  /// the end token) belongs to source s; row t of hidden [T, D] is, to the bit, what step() gives
  /// when it reads target token t. A later token changes no earlier row. `trace` may be nullptr.
  virtual void teach(const PackedBatch& sources, const PackedBatch& targets, Matrix hidden,
                     Team* team = nullptr, const AttentionTrace* trace = nullptr) const = 0;
  /// From now on the model's files may change (Weights::hold).
  virtual void hold() const = 0;
  /// The weights' file, and its tensors with elements that are no numbers.
  virtual const std::string& path() const = 0;
  virtual std::vector<NonFinite> non_finite() const = 0;
};

}  // namespace bert
