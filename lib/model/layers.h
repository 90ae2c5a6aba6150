#pragma once

#include <string_view>
#include <vector>

#include "base/export.h"
#include "model/config.h"
#include "ops/matrix.h"

namespace bert {

/// The numbers of a list like `3`, `1,4`, `9-12` or `-1` (from the end), each from `first` to
/// `last`, in the order given. `field`: whose value it is. `things`: what the model has so many of.
/// Throws Error(usage) naming what is wrong.
BERT_API std::vector<size_t> parse_numbers(std::string_view text, std::string_view field,
                                           std::string_view things, size_t first, size_t last);

/// Which hidden states a vector is made of: one layer (`0` the embeddings, `12`, `-2` from the
/// end), or several combined: `sum:9-12`, `mean:1,2,5`, `concat:9-12` (Devlin et al. 2019, table
/// 7). In a sum or a mean, layers may have weights, `mean:9=0.2,10-12=0.8`, as in
/// sentence-transformers' WeightedLayerPooling.
struct BERT_API LayerExpression {
  enum class Combine { one, sum, mean, concat, word, one_hot };
  Combine combine = Combine::one;
  std::vector<size_t> layers;  ///< resolved, 0 .. num_hidden_layers, in the order given
  std::vector<float> weights;  ///< factors of the layers in sum and mean; in a mean their sum is 1

  /// Throws Error(usage) naming what is wrong in `text`.
  static LayerExpression parse(std::string_view text, size_t num_hidden_layers);
  /// The mean of the layers from `first` on with these weights, one for each.
  static LayerExpression mean_from(size_t first, const std::vector<float>& weights);
  /// The last layer that is needed; 0 if none is.
  size_t last_layer() const;
  bool is_static() const { return combine == Combine::word || combine == Combine::one_hot; }
  /// Length of the combined vector of a token.
  size_t width(const Config& config) const;
  /// Puts the hidden states of one layer, [T, H], into the combined vectors, [T, width]. All layers
  /// come once, from the lowest up. Not for static ones.
  void add(size_t layer, ConstMatrix hidden, Matrix combined) const;

 private:
  void parse_weights(std::string_view text, size_t num_hidden_layers);
  /// Whether the weights of a mean have a sum, which is then 1.
  bool scale_weights();
};

}  // namespace bert
