#include "ops/attention_kernel.h"

#include <algorithm>

#include "base/team.h"
#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

constexpr size_t kNarrowFrom = 64;  // tokens from which rounding pays (measured)

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

void attention(ConstMatrix qkv, std::span<const size_t> cu_seq_lens, size_t heads, float scale,
               Matrix out, Buffer& scratch, Team* team, bool narrow, ConstMatrix bias) {
  narrow = narrow && kernels().attention_bf16;
  const size_t width = out.cols;   // H
  const size_t d = width / heads;  // D
  const size_t sequences = cu_seq_lens.size() - 1;
  size_t longest = 0;
  for (size_t s = 0; s < sequences; ++s) {
    longest = std::max(longest, cu_seq_lens[s + 1] - cu_seq_lens[s]);
  }
  const size_t parts = team ? static_cast<size_t>(team->size()) : 1;
  const size_t part_floats =
      round_up(std::max(attention_scratch(longest, d), attention_bf16_scratch(longest, d)), 16);
  float* const floats = scratch.reserve(parts * part_floats);
  const auto run = [&](size_t part) {
    for (size_t item = part; item < sequences * heads; item += parts) {
      const size_t begin = cu_seq_lens[item / heads];
      const size_t n = cu_seq_lens[item / heads + 1] - begin;
      const float* base = qkv.row(begin) + item % heads * d;
      AttentionTask task = task_of(ConstMatrix(base, n, d, qkv.stride),
                                   ConstMatrix(base + width, n, d, qkv.stride), scale);
      task.v = base + 2 * width;
      task.v_stride = qkv.stride;
      task.out = out.row(begin) + item % heads * d;
      task.out_stride = out.stride;
      task.bias = bias_of(bias, item % heads, n);
      task.scratch = floats + part * part_floats;
      (narrow && n >= kNarrowFrom ? kernels().attention_bf16 : kernels().attention)(task);
    }
  };
  if (parts == 1) return run(0);
  team->run([&](int part, int) { run(static_cast<size_t>(part)); });
}

const float* bias_of(ConstMatrix bias, size_t head, size_t n) {
  return bias.data ? bias.row(head) + (bias.cols + 1) / 2 - n : nullptr;
}

void attention_head_weights(ConstMatrix q, ConstMatrix k, float scale, Matrix scores,
                            Matrix probabilities, const float* bias) {
  AttentionTask task = task_of(q, k, scale);
  task.bias = bias;
  Buffer scratch(attention_scratch(task.n, task.d));
  task.scratch = scratch.data();
  task.scores = scores.data;
  task.scores_stride = scores.stride;
  task.probabilities = probabilities.data;
  task.probabilities_stride = probabilities.stride;
  kernels().attention(task);
}

}  // namespace bert
