#include "predict/dense_modules.h"

namespace bert {

DenseModules::DenseModules(const std::vector<SentenceModules::Dense>& modules) {
  for (const SentenceModules::Dense& module : modules) {
    Layer& layer = layers_.emplace_back();
    layer.width = module.out_features;
    if (module.kind == SentenceModules::Dense::Kind::norm) {
      layer.norm = {module.load_norm("weight"), module.load_norm("bias"), ModuleLayer::kEpsilon};
      continue;
    }
    if (module.kind == SentenceModules::Dense::Kind::convolution) {
      layer.convolution = TokenConvolution(module);
      continue;
    }
    layer.linear = module.load();
    layer.activation = module.activation;
    layer.residual = module.residual;
    if (module.projects_residual()) layer.projection = module.load_residual();
  }
}

/// x [S, in] -> y [S, out]
void DenseModules::run(const Layer& layer, Matrix x, Matrix y, LinearScratch& scratch) {
  if (layer.norm) return layer.norm(x, y);
  Buffer projected;
  ConstMatrix added = layer.residual ? ConstMatrix(x) : ConstMatrix();
  if (layer.projection) {
    const Matrix wide = projected.matrix(y.rows, y.cols);
    (*layer.projection)(x, wide, Activation::none, scratch);
    added = wide;
  }
  layer.linear(x, y, layer.activation, scratch, added);
}

Matrix DenseModules::apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch,
                           const PackedBatch* batch) const {
  bool flip = false;
  for (const Layer& layer : layers_) {
    const Matrix y = (flip ? second : first).matrix(x.rows, layer.width);
    if (layer.convolution) {
      layer.convolution(*batch, x, y, scratch);
    } else {
      run(layer, x, y, scratch);
    }
    x = y;
    flip = !flip;
  }
  return x;
}

}  // namespace bert
