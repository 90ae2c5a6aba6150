#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encoder/model.h"
#include "model/config.h"
#include "model/names.h"
#include "nn/recurrent.h"
#include "training/bottleneck_gradient.h"
#include "training/layout.h"
#include "training/low_rank.h"
#include "training/sublayers.h"

namespace bert::training {

/// What a model is trained for. It decides which heads the model has.
using Objective = HeadKind;

/// The rates of dropout in training.
struct DropoutRates {
  float hidden = 0;      ///< embeddings, both dense outputs of a layer
  float attention = 0;   ///< probabilities
  float classifier = 0;  ///< a classifier's input

  static DropoutRates all(double rate) {
    const auto r = static_cast<float>(rate);
    return {r, r, r};
  }
  /// The rates of config.json. Throws Error(data) that names a value out of range.
  static DropoutRates of(const Config& config, Objective objective);
};

/// The standard deviation of new weights, from config.json. Throws Error(data) if it is out of
/// range.
float initializer_range(const Config& config);

/// Throws Error(unsupported) that names the family, if its models are not trained for this. One
/// whose models give vectors alone has no classes for heads, and is trained for vectors.
void require_trainable(const Config& config, Objective objective);

/// The norm of this role in a model of this config.
nn::NormPlan norm_plan(const Config& config, Role role = Role::output_norm);

/// A head to train over the trunk.
struct HeadPlan {
  Objective objective = Objective::classify;
  Config config;     ///< the trunk's, with this head's labels and problem_type
  std::string name;  ///< "": tensors have transformers' names; else `heads.NAME.` and these
  std::vector<float> class_weights = {};  ///< one for each label, or empty
  float weight = 1;                       ///< factor of its loss in the sum of all losses
  float hop_penalty = 0;                  ///< factor of |A A^T - I|^2, with attentive pooling
  float label_smoothing = 0;              ///< share of the target that all labels have
  float teacher_share = 0;                ///< share of the teacher's logits in the loss
  float temperature = 1;                  ///< divides the logits that a teacher is compared by
  DropoutRates dropout = {};
  LowRankPlan low_rank = {};  ///< the first plan's says how the trunk learns

  /// The prefix of the names of its own tensors.
  std::string prefix() const { return name.empty() ? "" : prefix_of_head(name); }
};

/// The places of the tensors of the trunk and of all heads. The name of a named head's tensor has
/// the head's prefix. Throws Error(unsupported) as require_trainable() does.
Layout bert_layout(const Config& config, std::span<const HeadPlan> heads);

/// encoder_tensors() in the order of a Layout: the tensors that one product computes with lie one
/// behind the other, weights first (query, key and value; a decoder's key and value of its source).
std::vector<TensorSpec> trunk_tensors(const Config& config);

/// The matrices of one layer: parameters or gradients, depending on the array they point into.
struct LayerWeights {
  AttentionWeights attention;
  AttentionWeights cross;  ///< attention of a decoder to its source
  BottleneckWeights bottleneck;
  FeedForwardWeights net;
};

/// The tensors of a layout by their roles, in an array of layout.floats() floats. A tensor that the
/// layout lacks has no data.
class RoleView {
 public:
  /// `find` gives the parameter of a canonical name, or nullptr.
  using Find = std::function<const Parameter*(const std::string& canonical_name)>;
  RoleView(Find find, float* base) : find_(std::move(find)), base_(base) {}

  Matrix matrix(Role role, size_t layer = 0) const;
  float* vector(Role role, Part part, size_t layer = 0) const;
  nn::LinearWeights linear(Role role, size_t layer = 0) const;
  /// Several modules whose tensors lie one behind the other, as one.
  nn::LinearWeights joined(std::span<const Role> roles, size_t layer) const;
  nn::NormWeights norm(Role role, size_t layer = 0) const;
  BottleneckWeights bottleneck(size_t layer) const;
  LayerWeights layer(size_t layer) const;

 private:
  Find find_;
  float* base_;
};

/// All tensors of a model in one of its arrays. A tensor that the model lacks has no data.
struct ModelWeights {
  Matrix word, position, token_type;  ///< [V, E] [P, E] [types, E]
  Matrix task_type;                   ///< [tasks, E], in ERNIE
  Matrix position_bias;               ///< [buckets, A], in MPNet
  Matrix distances;                   ///< [2 span, H], in DeBERTa
  nn::NormWeights distance_norm;
  nn::LinearWeights convolution;  ///< [H, H / groups * K], in DeBERTa
  nn::NormWeights convolution_norm;
  nn::NormWeights embedding_norm;
  nn::LinearWeights projection;      ///< [H, E], in ELECTRA; [H, 3E], in MobileBERT
  std::vector<LayerWeights> layers;  ///< [L] of a pass; those that share tensors are alike
  nn::NormWeights final_norm;        ///< where norms stand before
  nn::LinearWeights pooler;          ///< [H, H]
  nn::LinearWeights transform;       ///< [E, H], in the masked LM head
  nn::NormWeights transform_norm;
  nn::LinearWeights decoder;        ///< [V, E]; the word table if tied
  Matrix decoder_rest;              ///< [H - E, V], in MobileBERT
  nn::LinearWeights next_sentence;  ///< [2, H]
  nn::LinearWeights head_dense;     ///< [H, H], in ModernBERT
  nn::NormWeights head_norm;
  nn::LinearWeights classifier_dense;  ///< [H, H], in ELECTRA and DistilBERT
  nn::LinearWeights classifier;        ///< [labels, H], or [labels, hops H] of attentive pooling
  nn::LinearWeights spans;             ///< [2, H]
  nn::LinearWeights pooling_hidden;    ///< [size, H], of attentive pooling
  nn::LinearWeights pooling_hops;      ///< [hops, size]
  std::vector<nn::CellWeights>
      bilstm;  ///< before the classifier of tokens: of each layer, both ways

  /// `base` has layout.floats() floats. A tensor with this prefix is preferred to the one without.
  static ModelWeights view(const Layout& layout, const Config& config, float* base,
                           const std::string& prefix = "");
};

/// Copies a model's tensors into `base`. Some are drawn from N(0, initializer_range) by `seed`
/// instead (norms are 1, biases 0): tensors of heads that the model lacks, and a classifier with
/// another number of labels or whose head's prefix is in `relabelled`. Returns their names. Throws
/// Error(data) that names the tensors of the trunk that the model lacks.
std::vector<std::string> load_parameters(const Layout& layout, const Weights& weights,
                                         uint64_t seed, float initializer_range, float* base,
                                         std::span<const std::string> relabelled = {});

}  // namespace bert::training
