#include "training/vector_head.h"

#include <algorithm>
#include <cmath>

#include "ops/gradient_kernels.h"
#include "ops/kernels.h"

namespace bert::training {

Tally VectorHead::count(const TrainingBatch& batch) const {
  Tally tally;
  tally.sequences = static_cast<double>(batch.sequences());
  return tally;
}

// m is the mean of a sequence's n hidden states, t is the wanted unit vector. The loss is 1 -
// cos(m, t). Its gradient in each hidden state is (cos(m, t) m / |m| - t) / (n |m|).
void VectorHead::add_losses(const HeadPass& pass, Tally& tally) {
  const PackedBatch& batch = pass.batch.batch;
  const size_t h = pass.hidden.cols;
  const Matrix mean = mean_.matrix(1, h);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    const float* wanted = pass.batch.values.data() + s * h;
    std::fill_n(mean.data, h, 0.f);
    for (size_t t = 0; t < n; ++t) {
      gradient_kernels().axpy(1.f / static_cast<float>(n), pass.hidden.row(begin + t), h,
                              mean.data);
    }
    const float length = std::sqrt(dot(mean.data, mean.data, h)) + 1e-12f;
    const float cosine = dot(mean.data, wanted, h) / length;
    tally.sequence_loss += 1. - static_cast<double>(cosine);
    if (!pass.gradient) continue;
    const float factor = pass.scale.sequence / (static_cast<float>(n) * length);
    float* first = pass.d_hidden.row(begin);
    for (size_t i = 0; i < h; ++i) first[i] = (cosine * mean.data[i] / length - wanted[i]) * factor;
    for (size_t t = 1; t < n; ++t) std::copy_n(first, h, pass.d_hidden.row(begin + t));
  }
}

}  // namespace bert::training
