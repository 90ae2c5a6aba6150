#include "heads/transform.h"

namespace bert {

HeadTransform HeadTransform::load(const Config& config, const Weights& weights) {
  HeadTransform transform;
  if (config.family->text_head != TextHead::transform) return transform;
  transform.dense_ = weights.linear(config, Role::head_dense, Precision::f32);
  transform.act_ = config.head_act;
  transform.norm_ = Norm::load(config, weights, Role::head_norm);
  return transform;
}

HeadTransform HeadTransform::load_mlm(const Config& config, const Weights& weights,
                                      Precision precision) {
  HeadTransform transform;
  if (!has_module(config, Role::mlm_dense)) return transform;
  transform.dense_ = weights.linear(config, Role::mlm_dense, precision);
  transform.act_ = config.mlm_act();
  transform.norm_ = Norm::load(config, weights, Role::mlm_norm);
  return transform;
}

void HeadTransform::operator()(ConstMatrix x, Matrix out, LinearScratch& scratch) const {
  dense_(x, out, act_, scratch);
  norm_(out, out);
}

ConstMatrix HeadTransform::operator()(ConstMatrix x, Buffer& buffer, LinearScratch& scratch) const {
  if (!dense_) return x;
  const Matrix out = buffer.matrix(x.rows, out_features());
  (*this)(x, out, scratch);
  return out;
}

}  // namespace bert
