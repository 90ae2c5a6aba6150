#include "ops/look.h"

#include "ops/kernels/kernel_table.h"

namespace bert {

void Look::operator()(const float* q, std::span<const float* const> keys, float* out,
                      float* scratch, Matrix scores, Matrix weights, const float* bias) const {
  LookTask task;
  task.q = q;
  task.keys = keys.data();
  task.values = values;
  task.n = keys.size();
  task.heads = heads;
  task.d = head_size;
  task.scale = scale;
  task.bias = bias;
  task.out = out;
  task.scratch = scratch;
  task.scores = scores.data;
  task.weights = weights.data;
  task.shown_stride = scores.data ? scores.stride : weights.stride;
  kernels().look(task);
}

}  // namespace bert
