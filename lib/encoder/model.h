#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/export.h"
#include "directory/checkpoint.h"
#include "encoder/packed_batch.h"
#include "encoder/trace.h"
#include "encoder/workspace.h"

namespace bert {

/// What a forward pass shows besides its result, and how far it goes.
struct ForwardOptions {
  Trace trace;
  size_t last_layer = std::numeric_limits<size_t>::max();  ///< none after it is computed
};

/// One head of attention.
struct HeadPlace {
  size_t layer;  ///< 0 .. L - 1, of the pass: of layers that share weights only this one
  size_t head;   ///< 0 .. A - 1
};

/// What stands behind an encoder and makes other states of a text's tokens: a decoder that reads
/// the text, too, in classifiers of BART's kind.
///
/// Thread rule: const, shared by threads.
class StatesReader {
 public:
  virtual ~StatesReader() = default;
  /// states [T, H] of the batch's tokens, in place.
  virtual void read(const PackedBatch& batch, Matrix states, Workspace& workspace) const = 0;
};

/// BERT's encoder (Devlin et al. 2019): embeddings, L blocks, and the pooler if the file has one.
/// The other families (model/family.h) are this encoder with other parts.
///
/// Thread rule: const after open() and ablate(); forward may run in many threads, each with its own
/// Workspace.
class BERT_API Model {
 public:
  /// Opens config.json and the weights of `directory`, with this head of it, to be computed with in
  /// this precision, or else in that it was quantized to. Floats are computed as Precision::split;
  /// those of a head only with `many_rows`, where each of its products will have many. Throws Error
  /// naming file and reason.
  static Model open(const ModelDirectory& directory, std::optional<Precision> precision = {},
                    const HeadChoice& head = {}, bool many_rows = false);
  /// Of weights that are open already, with the head that is chosen there; computed as open() does
  /// in f32, or in this precision.
  static Model of(Checkpoint checkpoint, std::optional<Precision> precision = Precision::f32);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Turns heads off, from now on: what they put out is zero, before attention's output projection
  /// (Michel et al. 2019). Not while other threads use the model.
  void ablate(std::span<const HeadPlace> heads);

  /// From now on forward gives what `reader` makes of the last layer's states. Not while other
  /// threads use the model.
  void read_with(std::unique_ptr<const StatesReader> reader);
  bool has_reader() const;

  const Config& config() const;
  const Weights& weights() const;
  Precision precision() const;
  const ModelDirectory& directory() const;

  /// Hidden states of the last layer computed, [T, H], in the workspace until the next call. Throws
  /// Error(data) if an id is outside the vocabulary or a sequence longer than the position table.
  Matrix forward(const PackedBatch& batch, Workspace& workspace,
                 const ForwardOptions& options = {}) const;
  /// Only the rows of that result that `rows` names (strictly ascending), [M, H], bit-equal to
  /// forward's and cheaper: a head that reads a few rows leaves the others out of the last layer,
  /// and sequences that are copies but for some tokens share what the first layer projects.
  Matrix forward_rows(const PackedBatch& batch, std::span<const size_t> rows,
                      Workspace& workspace) const;

  bool has_pooler() const;
  /// act(W h + b) of each sequence's first hidden state, where act is tanh (DeBERTa: gelu), or that
  /// state itself where the pooler has no layer (MobileBERT): [S, H], in the workspace. Needs
  /// has_pooler().
  Matrix pooled_output(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) const;

  /// The static vector of a word piece, [E].
  void word_vector(int32_t id, std::span<float> out) const;

 private:
  Model();
  static Model make(const ModelDirectory& directory, Checkpoint checkpoint,
                    std::optional<Precision> precision, bool many_rows);
  struct State;
  std::unique_ptr<State> state_;
};

/// hidden[begin of sequence s] for every s, gathered to [S, H] in `buffer`.
Matrix gather_first_tokens(const PackedBatch& batch, ConstMatrix hidden, Buffer& buffer);

}  // namespace bert
