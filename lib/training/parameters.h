#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/model.h"
#include "model/config.h"
#include "model/names.h"
#include "nn/layer_norm.h"
#include "nn/linear_gradient.h"
#include "ops/matrix.h"

namespace bert::training {

/// What a model is trained for; says which heads it has.
enum class Objective {
  pretrain,   ///< masked LM, and next sentence if the layout has it
  masked_lm,  ///< masked LM alone
  classify,   ///< one label a text (or regression, or several)
  tokens,     ///< one label a token
  spans,      ///< where an answer begins and ends
  vectors,    ///< the mean of the hidden states, after another model's (distillation); no tensors
};

/// How much of what is dropped in training.
struct DropoutRates {
  float hidden = 0;      ///< embeddings, outputs of the blocks' two halves
  float attention = 0;   ///< probabilities
  float classifier = 0;  ///< a classifier's input

  static DropoutRates all(double rate) {
    const auto r = static_cast<float>(rate);
    return {r, r, r};
  }
  /// As config.json has them. Throws Error(data) naming the value that is out of range.
  static DropoutRates of(const Config& config, Objective objective);
};

/// The standard deviation that config.json wants of what is drawn. Throws Error(data).
float initializer_range(const Config& config);

/// One thing that is learned over the trunk.
struct HeadPlan {
  Objective objective = Objective::classify;
  Config config;     ///< the trunk's, with this head's labels and problem_type
  std::string name;  ///< "": tensors have transformers' names; else they are `heads.NAME.` tensors
  std::vector<float> class_weights = {};  ///< one a label, or none
  float weight = 1;                       ///< of its loss in the sum of all
  DropoutRates dropout = {};

  /// What stands before its own tensors' names.
  std::string prefix() const { return name.empty() ? "" : prefix_of_head(name); }
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
  /// The tensors of the trunk, and those of the heads.
  static Layout make(const Config& config, std::span<const HeadPlan> heads);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  size_t floats() const { return floats_; }
  /// nullptr if there is none.
  const Parameter* find(std::string_view name) const;

 private:
  void add(std::string name, std::vector<size_t> shape, size_t depth);
  void add_linear(const std::string& name, size_t out, size_t in, size_t depth);
  void add_norm(const std::string& name, size_t n, size_t depth);
  void add_trunk(const Config& config);
  void add_head(const HeadPlan& head);

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

  /// `base`: a run of layout.floats() floats. Tensors with this prefix come before those without.
  static ModelWeights view(const Layout& layout, const Config& config, float* base,
                           const std::string& prefix = "");
};

/// Copies a model's tensors into `base`; those of heads that the model lacks (or a classifier of
/// another number of labels, or of a head whose prefix is in `relabelled`) are drawn from
/// N(0, initializer_range) by `seed` (norms 1, biases 0), and their names returned. Throws
/// Error(data) naming the tensors of the trunk that the model lacks.
std::vector<std::string> load_parameters(const Layout& layout, const Weights& weights,
                                         uint64_t seed, float initializer_range, float* base,
                                         std::span<const std::string> relabelled = {});
/// All of them drawn.
void draw_parameters(const Layout& layout, uint64_t seed, float initializer_range, float* base);

}  // namespace bert::training
