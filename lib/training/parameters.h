#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bert/model.h"
#include "checkpoint/config.h"
#include "ops/matrix.h"
#include "training/layer_norm.h"
#include "training/linear.h"

namespace bert::training {

/// What a model is trained for; says which heads it has.
enum class Objective {
  pretrain,   ///< masked LM, and next sentence if the layout has it
  masked_lm,  ///< masked LM alone
  classify,   ///< one label a text (or regression, or several)
  tokens,     ///< one label a token
  spans,      ///< where an answer begins and ends
};

/// One tensor among the parameters.
struct Parameter {
  std::string name;  ///< canonical (checkpoint/weights.h)
  std::vector<size_t> shape;
  size_t offset = 0;  ///< floats from the beginning
  size_t size = 0;
  bool decays = true;    ///< weight decay: not for biases and norms
  float rate_scale = 1;  ///< times the learning rate; 0: frozen
  int32_t depth = 0;     ///< 0 embeddings, 1 .. L layers, L + 1 heads
};

/// Where each tensor of a model lies in one run of floats. Values, gradients and moments are four
/// such runs, so that an optimiser walks memory once.
class Layout {
 public:
  /// The tensors that `objective` needs in a model of `config`.
  static Layout make(const Config& config, Objective objective);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  size_t floats() const { return floats_; }
  /// nullptr if there is none.
  const Parameter* find(std::string_view name) const;

 private:
  void add(std::string name, std::vector<size_t> shape, int32_t depth);

  std::vector<Parameter> parameters_;
  size_t floats_ = 0;
};

/// The matrices of one block; the parameters or their gradients, by what they point into.
struct LayerWeights {
  LinearWeights qkv;               ///< [3H, H]: query, key, value
  LinearWeights attention_output;  ///< [H, H]
  NormWeights attention_norm;
  LinearWeights intermediate;  ///< [I, H]
  LinearWeights output;        ///< [H, I]
  NormWeights output_norm;
};

/// All tensors of a model in one of its runs of floats. What a model lacks has no data.
struct ModelWeights {
  Matrix word, position, token_type;  ///< [V, E] [P, E] [types, E]
  NormWeights embedding_norm;
  LinearWeights projection;  ///< [H, E], ELECTRA's
  std::vector<LayerWeights> layers;
  LinearWeights pooler;     ///< [H, H]
  LinearWeights transform;  ///< [E, H], of the masked LM head
  NormWeights transform_norm;
  LinearWeights decoder;           ///< [V, E]; the word table where tied
  LinearWeights next_sentence;     ///< [2, H]
  LinearWeights classifier_dense;  ///< [H, H], ELECTRA's and DistilBERT's
  LinearWeights classifier;        ///< [labels, H], of texts or of tokens
  LinearWeights spans;             ///< [2, H]

  /// `base`: a run of layout.floats() floats.
  static ModelWeights view(const Layout& layout, const Config& config, float* base);
};

/// Copies a model's tensors into `base`; those the model lacks (or a classifier of another number
/// of labels) are drawn from N(0,
/// initializer_range) by `seed` (norms 1, biases 0), and their names returned.
std::vector<std::string> load_parameters(const Layout& layout, const Weights& weights,
                                         uint64_t seed, float initializer_range, float* base);
/// All of them drawn.
void draw_parameters(const Layout& layout, uint64_t seed, float initializer_range, float* base);

}  // namespace bert::training
