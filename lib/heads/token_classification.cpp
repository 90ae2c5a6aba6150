#include "heads/token_classification.h"

#include <utility>
#include <vector>

#include "directory/readers.h"
#include "model/head_tensors.h"

namespace bert {

TokenClassifier TokenClassifier::open(const Model& model) {
  const Weights& weights = model.weights();
  const Config& config = model.config();
  require_head(model.directory(), config, weights, HeadKind::tokens);
  TokenClassifier c;
  c.labels_ = config.labels;
  if (!config.bilstm) {
    c.transform_ = HeadTransform::load(config, weights);
    c.output_ = weights.linear(config, Role::classifier, Precision::f32);
    return c;
  }
  c.layers_ = LayerExpression::parse(config.bilstm.layers, config.num_hidden_layers);
  c.features_ = c.layers_->width(config);
  c.shape_ = {Cell::lstm, c.features_, config.bilstm.hidden_size, config.bilstm.num_layers, true};
  const std::vector<TensorSpec> tensors = bilstm_tensors(config);
  for (size_t i = 0; i < tensors.size(); i += 4) {
    const auto linear = [&](const TensorSpec& weight, const TensorSpec& bias) {
      std::vector<float> offsets = weights.floats(bias);
      return Linear(weights.matrix(weight.name, weight.shape[0], weight.shape[1]),
                    std::move(offsets), Precision::f32);
    };
    c.cells_.push_back(
        {linear(tensors[i], tensors[i + 2]), linear(tensors[i + 1], tensors[i + 3])});
  }
  c.output_ = weights.linear(config, Role::bilstm_classifier, Precision::f32);
  return c;
}

TokenScorer::TokenScorer(const TokenClassifier& head) : head_(head), stack_(head.shape_) {
  if (!head.layers_) return;
  options_.last_layer = head.layers_->last_layer();
  options_.trace.request = Traced::hidden;
  options_.trace.layers = head.layers_->layers;
  options_.trace.show = [this](const TraceView& view) {
    head_.layers_->add(view.layer, view.values,
                       features_.matrix(view.values.rows, head_.features_));
  };
}

ConstMatrix TokenScorer::features(const PackedBatch& batch, ConstMatrix hidden) const {
  if (!head_.layers_) return hidden;
  return {features_.data(), batch.tokens(), head_.features_};
}

Matrix TokenScorer::logits(const PackedBatch& batch, ConstMatrix hidden, Workspace& workspace) {
  const Matrix logits = workspace.logits.matrix(batch.tokens(), head_.labels_.size());
  if (!head_.layers_) {
    head_.output_(head_.transform_(hidden, workspace.rows, workspace.linear), logits,
                  Activation::none, workspace.linear);
    return logits;
  }
  std::vector<nn::CellProducts> products;
  for (const nn::CellLinears& cell : head_.cells_) {
    products.push_back(cell.products(workspace.linear));
  }
  const Matrix outputs = outputs_.matrix(batch.tokens(), head_.shape_.output_size());  // [T, 2 N]
  stack_.forward(products, batch.cu_seq_lens, features(batch, hidden), {}, outputs, {});
  head_.output_(outputs, logits, Activation::none, workspace.linear);
  return logits;
}

}  // namespace bert
