#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "encoder/packed_batch.h"
#include "encoder/workspace.h"
#include "model/open_entities.h"
#include "nn/recurrent.h"
#include "ops/linear.h"

namespace bert {

/// Words [begin, end) of a sequence that may be an entity of this name.
struct EntityScore {
  uint32_t begin = 0, end = 0, name = 0;
  float score = 0;
};

/// Which tokens of a sequence are names and words.
struct EntityTokens {
  std::span<const size_t> names;  ///< [C] the tokens whose states stand for the names
  std::vector<size_t> words;      ///< [W + 1] word w has the tokens [words[w], words[w + 1])
};

/// GLiNER's head (Zaratiana et al. 2023): names and words of a text are compared. C names, W words,
/// G the length of a word's vector, w_i and p_c the vectors of a word and of a name:
///
///   spans   logit(i, j, c) = O(relu(S(w_i) ; E(w_j))) . P(p_c)
///   words   logit(i, c)    = M(a_i ; b_c ; a'_i * b'_c), three numbers: begins, ends, lies within
///
/// where S, E, O, P, M are two linear layers with a relu. A product of a matrix with vectors side
/// by side is the sum of the products with its parts, so the first layer of O runs once a word, not
/// once a span, and its second layer once a name.
///
/// Thread rule: const after open(); each thread has an EntityScorer.
class BERT_API EntityHead {
 public:
  /// Throws Error(data) that names the missing head or tensor.
  static EntityHead open(const Model& model);

  const OpenEntities& config() const { return config_; }

 private:
  friend class EntityScorer;

  /// y = W' act(W x)
  struct TwoLayers {
    Linear first, second;
  };
  /// A linear layer of the file.
  static Linear load(const Weights& weights, const std::string& name, size_t out, size_t in);
  static TwoLayers load_two(const Weights& weights, const std::string& name, size_t in,
                            size_t inner, size_t out);
  /// A layer of weights that are made here.
  Linear keep(std::vector<float> weight, size_t out, size_t in, std::vector<float> bias);
  void load_rnn(const Weights& weights);
  void load_spans(const Weights& weights);
  void load_words(const Weights& weights);

  OpenEntities config_;
  Linear projection_;  ///< [G, H], if G is not H
  nn::RecurrentShape shape_;
  std::vector<nn::CellLinears> cells_;
  TwoLayers start_, end_, name_;            ///< S, E, P
  Linear of_start_, of_end_;                ///< [4 G, G] the parts of O's first layer
  Linear of_name_;                          ///< [4 G, G] O's second layer, transposed
  std::vector<float> offset_;               ///< [G] and its bias
  Linear word_, label_;                     ///< [2 G, G]: a, a' and b, b'
  Linear of_word_, of_label_, of_product_;  ///< [4 G, G] the parts of M's first layer
  Linear output_;                           ///< [3, 4 G]
  std::vector<std::unique_ptr<std::vector<float>>> made_;  ///< weights that are in no file
};

/// The memory of one thread for an EntityHead, which it borrows.
class BERT_API EntityScorer {
 public:
  explicit EntityScorer(const EntityHead& head);
  EntityScorer(const EntityScorer&) = delete;
  EntityScorer& operator=(const EntityScorer&) = delete;

  /// Sets found[s] to the spans of sequence s whose score is above the threshold; of words also
  /// those that just reach it within. In the order of begin, end, name; of words begin, name, end.
  /// A sequence's bits do not depend on the others.
  ///   hidden [T, H]
  void operator()(const PackedBatch& batch, ConstMatrix hidden,
                  std::span<const EntityTokens> tokens, double threshold, Workspace& workspace,
                  std::span<std::vector<EntityScore>> found);
  /// Whether all scores of that sequence were numbers.
  bool finite(size_t sequence) const { return finite_[sequence]; }

 private:
  void gather(const PackedBatch& batch, ConstMatrix states, std::span<const EntityTokens> tokens);
  void run_rnn(LinearScratch& scratch);
  ConstMatrix two_layers(const EntityHead::TwoLayers& layers, ConstMatrix x, Activation last,
                         Buffer& out, LinearScratch& scratch);
  void prepare_spans(LinearScratch& scratch);
  bool score_spans(size_t sequence, double threshold, std::vector<EntityScore>& found);
  void prepare_words(LinearScratch& scratch);
  bool score_words(size_t sequence, double threshold, LinearScratch& scratch,
                   std::vector<EntityScore>& found);
  ConstMatrix word_logits(size_t sequence, LinearScratch& scratch);

  const EntityHead& head_;
  nn::RecurrentStack stack_;
  std::vector<size_t> cu_words_, cu_names_;  ///< [S + 1]
  std::vector<bool> finite_;                 ///< [S]
  Matrix words_, names_;                     ///< [W, G], [C, G] of all sequences
  ConstMatrix of_begin_, of_end_, of_name_;  ///< [W, 4 G], [W, 4 G], [C, 4 G]
  std::vector<float> offsets_;               ///< [C]
  ConstMatrix of_word_, of_label_;           ///< [W, 2 G], [C, 2 G]
  Buffer projected_, words_buffer_, names_buffer_, rnn_, inner_, outer_, begin_, end_, name_, row_,
      word_, label_, word_part_, label_part_, products_, mixed_, logits_;
};

}  // namespace bert
