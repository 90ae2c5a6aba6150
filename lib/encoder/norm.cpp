#include "encoder/norm.h"

#include "ops/kernels.h"

namespace bert {

Norm Norm::load(const Config& config, const Weights& weights, Role role, size_t layer) {
  Norm norm;
  norm.eps = config.layer_norm_eps;
  norm.weight = weights.floats(tensor_spec(config, role, Part::weight, layer));
  if (config.family->norm_kind != NormKind::layer) {
    if (config.family->norm_kind == NormKind::rms_around_one) {
      for (float& value : norm.weight) value += 1;
    }
    return norm;
  }
  norm.bias = has_part(config, role, Part::bias)
                  ? weights.floats(tensor_spec(config, role, Part::bias, layer))
                  : std::vector<float>(norm.weight.size());
  return norm;
}

void Norm::operator()(ConstMatrix x, Matrix out) const {
  bias.empty() ? rms_norm(x, weight, eps, out) : layer_norm(x, weight, bias, eps, out);
}

}  // namespace bert
