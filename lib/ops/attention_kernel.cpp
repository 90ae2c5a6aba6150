#include "ops/attention_kernel.h"

#include "ops/kernel_table.h"

namespace bert {
namespace {

AttentionTask task_of(ConstMatrix q, ConstMatrix k, float scale) {
  AttentionTask task;
  task.q = q.data;
  task.k = k.data;
  task.q_stride = q.stride;
  task.k_stride = k.stride;
  task.n = q.rows;
  task.d = q.cols;
  task.scale = scale;
  return task;
}

}  // namespace

void attention_head(ConstMatrix q, ConstMatrix k, ConstMatrix v, float scale, Matrix out,
                    Buffer& scratch) {
  AttentionTask task = task_of(q, k, scale);
  task.v = v.data;
  task.v_stride = v.stride;
  task.out = out.data;
  task.out_stride = out.stride;
  task.scratch = scratch.reserve(attention_scratch(task.n, task.d));
  kernels().attention(task);
}

void attention_head_probabilities(ConstMatrix q, ConstMatrix k, float scale, Matrix probabilities) {
  AttentionTask task = task_of(q, k, scale);
  Buffer scratch(attention_scratch(task.n, task.d));
  task.scratch = scratch.data();
  task.probabilities = probabilities.data;
  task.probabilities_stride = probabilities.stride;
  kernels().attention(task);
}

}  // namespace bert
