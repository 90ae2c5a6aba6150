#include "predict/dense_modules.h"

namespace bert {

DenseModules::DenseModules(const std::vector<SentenceModules::Dense>& modules) {
  for (const SentenceModules::Dense& module : modules) {
    layers_.push_back({module.load(), module.activation});
  }
}

Matrix DenseModules::apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch) const {
  bool flip = false;
  for (const Layer& layer : layers_) {
    const Matrix y = (flip ? second : first).matrix(x.rows, layer.linear.out_features());
    layer.linear(x, y, layer.activation, scratch);
    x = y;
    flip = !flip;
  }
  return x;
}

}  // namespace bert
