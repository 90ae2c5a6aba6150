#include "encoder/norm.h"

#include "ops/kernels.h"

namespace bert {

Norm Norm::load(const Config& config, const Weights& weights, Role role, size_t layer) {
  Norm norm;
  norm.eps = config.layer_norm_eps;
  norm.weight = weights.floats(tensor_spec(config, role, Part::weight, layer));
  norm.kind = norm_kind(*config.family, role);
  if (norm.kind == NormKind::rms_around_one) {
    for (float& value : norm.weight) value += 1;
  }
  if (norm.kind == NormKind::rms || norm.kind == NormKind::rms_around_one) return norm;
  norm.bias = has_part(config, role, Part::bias)
                  ? weights.floats(tensor_spec(config, role, Part::bias, layer))
                  : std::vector<float>(norm.weight.size());
  return norm;
}

void Norm::operator()(ConstMatrix x, Matrix out) const {
  if (kind == NormKind::layer) return layer_norm(x, weight, bias, eps, out);
  if (kind != NormKind::affine) return rms_norm(x, weight, eps, out);
  for (size_t t = 0; t < x.rows; ++t) {
    const float* in = x.row(t);
    float* to = out.row(t);
    for (size_t i = 0; i < x.cols; ++i) to[i] = in[i] * weight[i] + bias[i];
  }
}

}  // namespace bert
