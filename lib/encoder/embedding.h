#pragma once

#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "encoder/norm.h"
#include "encoder/packed_batch.h"
#include "model/config.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// The factor of a text's word vectors where those of masks are zero: the more masks there are, the
/// larger it is (ESM's token_dropout).
BERT_API float dropped_words_scale(std::span<const int32_t> ids, int32_t mask);

/// Word + position + token type vectors, then layer norm (Devlin et al. 2019, section 3 and figure
/// 2).
///
///   word [V, E]   position [P, E]   token_type [types, E]   E = config.embedding_size
///
/// MobileBERT's vector of a token is made of three words' [T, 3E], by the projection, before place
/// and type [H] are added. ELECTRA's small models have E < H and a projection after it, DeBERTa has
/// it before the norm. DistilBERT has no token types, models with rotary or relative positions have
/// no position table. The tables stay in the mapped file: only the rows that are looked up are
/// read. Thread rule: const after load.
class Embedding {
 public:
  /// Throws Error(data) naming the tensor that is missing or has another shape.
  static Embedding load(const Config& config, const Weights& weights, Precision precision);

  /// output [T, H] of the batch's tokens. Ids are checked by the caller (Model::check).
  void operator()(const PackedBatch& batch, Matrix output, Buffer& scratch,
                  LinearScratch& linear_scratch) const;

  /// The same of single tokens of type 0: token t stands at place positions[t] of its text, both
  /// [T]. A token of padding, where positions begin behind it, does not shift those that follow.
  void at(std::span<const int32_t> ids, std::span<const size_t> positions, Matrix output,
          Buffer& scratch, LinearScratch& linear_scratch) const;

  /// Whether a token's vector is decided by its id and place alone: not where tokens of padding
  /// shift the places, nor where masks scale the vectors of their text.
  bool is_plain(const PackedBatch& batch) const;

  /// The word vector of `id` alone, without position, token type or norm; out [E].
  void word_vector(int32_t id, std::span<float> out) const;

 private:
  /// Word, token type and position vectors of one token, added. `scale`: of the word vector.
  void add_up(int32_t id, size_t type, size_t position_row, float scale, float* out) const;
  /// Type and position vectors, added to out [width].
  void add_places(size_t type, size_t position_row, size_t width, float* out) const;
  /// The vectors [T, H] of a model of trigrams.
  void trigrams(const PackedBatch& batch, Matrix output, Buffer& scratch,
                LinearScratch& linear_scratch) const;
  /// The scale of the word vectors of a text: 1, or more the more masks it has (token_dropout).
  float scale_of(std::span<const int32_t> ids) const;
  /// What stands behind the sum [T, E].
  void finish(Matrix sum, Matrix output, LinearScratch& linear_scratch) const;

  TensorView word_;
  float scale_ = 1;       ///< factor of the word vectors
  int32_t dropped_ = -1;  ///< id of the mask, if vectors of masks are zero
  size_t first_position_ = 0;
  std::vector<float> position_;
  std::vector<float> token_type_;
  std::vector<float> task_type_;  ///< [E] of the first task
  Norm norm_;
  Linear projection_;
  bool projects_first_ = false;
  bool trigrams_ = false;
};

}  // namespace bert
