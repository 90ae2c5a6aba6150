#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "directory/sentence_modules.h"
#include "encoder/model.h"
#include "heads/attentive_pooling.h"
#include "heads/pooling.h"
#include "model/layers.h"
#include "ops/matrix.h"
#include "predict/static_text.h"
#include "predict/whitening.h"
#include "tokenizer/frame.h"

namespace bert {

/// The steps from hidden states to a vector, decided once before the first text.
///   layers -> modules over tokens -> pooling (modes side by side) -> dense modules
///   -> first `dims` numbers -> L2 norm
/// The model's own limit (truncate_dim) cuts behind its own norm, as in sentence-transformers:
///   .. -> dense modules -> L2 norm -> first `truncate_dim` numbers -> L2 norm if asked for
/// Whitening reads what is then the vector, before `dims` and `normalize_cut`.
struct BERT_API VectorPlan {
  LayerExpression layers;
  std::vector<SentenceModules::Dense> token_layers;  ///< over each token's vector
  size_t features = 0;                               ///< length of a token's vector behind them
  std::vector<Pooling> poolings;  ///< empty with `pooler`, `attentive` or `per_token`
  bool pooler = false;            ///< tanh(W h_cls + b)
  /// The pooling of the model's classifier: its hops side by side.
  std::shared_ptr<const AttentivePooling> attentive;
  bool per_token = false;  ///< no pooling: vectors of tokens are wanted
  std::vector<SentenceModules::Dense> dense;
  bool normalize = false;      ///< the model's own module
  bool normalize_cut = false;  ///< what is given has length 1
  size_t dims = 0;             ///< 0: all, or as truncate_dim says
  size_t truncate_dim = 0;     ///< 0: all
  bool prompt_is_pooled = true;
  bool no_special = false;  ///< [CLS] and [SEP] are not pooled
  std::shared_ptr<const Whitening> whitening;

  /// The plan of the model's own modules. `pool` and `layer_text` override it when not empty.
  /// Throws Error(usage) for an unknown pooling or layer, Error(data) if `pooler` is missing.
  static VectorPlan make(const Model& model, const SentenceModules& modules,
                         const std::string& pool, const std::string& layer_text);
  /// The same of static vectors: `pool` is mean or none, and there are no layers.
  static VectorPlan make(const StaticText& text, const SentenceModules& modules,
                         const std::string& pool, const std::string& layer_text);
  /// Puts the modules of a model of late interaction behind each token's state, where the plan has
  /// vectors of tokens. Throws Error(data) if they do not fit.
  void take_token_modules(const SentenceModules& modules) { take_modules(modules, features); }
  /// The vector of a sequence from its tokens' features [n, W], by `poolings`. `prompt_tokens` of
  /// them are the prompt's. out [poolings * W]
  void pool_sequence(ConstMatrix tokens, size_t prompt_tokens, const Frame& frame,
                     std::span<float> out) const;
  /// What follows the dense modules: cuts and scales vectors [S, full_width()] in place, or in
  /// `whitened`. Rows may be further apart than they are long.
  Matrix finish(Matrix vectors, Buffer& whitened) const;
  /// The weights of all its modules.
  std::vector<const Weights*> weights() const;
  /// Length of a token's vector before token_layers.
  size_t state_width() const {
    return token_layers.empty() ? features : token_layers.front().in_features;
  }
  /// Length of what is pooled, before the dense modules.
  size_t pooled_width() const;
  /// Length of a vector before it is cut.
  size_t full_width() const;
  /// Length of the model's own vector, which whitening reads.
  size_t own_width() const;
  /// Length of the vector that is given.
  size_t width() const;

 private:
  void take_modules(const SentenceModules& modules, size_t hidden_size);
  void take_modules_of(const Model& model, const SentenceModules& modules);
  void take_layer_mean(const Model& model, const SentenceModules::LayerMean& mean);
};

}  // namespace bert
