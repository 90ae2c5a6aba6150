#include "ops/attention_kernel.h"

#include <algorithm>

#include "base/team.h"
#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

constexpr size_t kNarrowFrom = 64;  // tokens from which rounding pays (measured)

AttentionTask task_of(const AttentionForm& form, size_t head, ConstMatrix q, ConstMatrix k,
                      Buffer& scratch) {
  AttentionTask task;
  task.q = q.data;
  task.k = k.data;
  task.q_stride = q.stride;
  task.k_stride = k.stride;
  task.n = q.rows;
  task.d = q.cols;
  task.scale = form.scale;
  task.window = form.window;
  task.ahead = form.ahead;
  if (form.bias) {
    const HeadBias bias = form.bias->of(head, q, k, scratch);
    task.bias = bias.first;
    task.bias_step = bias.step;
  }
  return task;
}

/// Whether the kernel of bf16, which knows no window, may compute a sequence of n tokens.
bool is_narrow(const AttentionForm& form, size_t n) {
  return form.narrow && kernels().attention_bf16 && n >= kNarrowFrom && n <= form.window &&
         n <= form.ahead;
}

size_t longest_of(std::span<const size_t> cu_seq_lens) {
  size_t longest = 0;
  for (size_t s = 0; s + 1 < cu_seq_lens.size(); ++s) {
    longest = std::max(longest, cu_seq_lens[s + 1] - cu_seq_lens[s]);
  }
  return longest;
}

}  // namespace

HeadBias DistanceBias::of(size_t head, ConstMatrix, ConstMatrix, Buffer&) const {
  return {rows_.data() + head * distances_ + (distances_ - 1) / 2, -1};
}

void attention(const AttentionForm& form, ConstMatrix qkv, std::span<const size_t> cu_seq_lens,
               Matrix out, AttentionBuffers& buffers, Team* team) {
  const size_t d = out.cols / form.heads;  // D
  const size_t sequences = cu_seq_lens.size() - 1, longest = longest_of(cu_seq_lens);
  const size_t parts = team ? static_cast<size_t>(team->size()) : 1;
  const size_t part_floats =
      round_up(std::max(attention_scratch(longest, d), attention_bf16_scratch(longest, d)), 16);
  float* const floats = buffers.heads.reserve(parts * part_floats);
  if (buffers.bias.size() < parts) buffers.bias.resize(parts);
  const auto run = [&](size_t part) {
    for (size_t item = part; item < sequences * form.heads; item += parts) {
      const size_t begin = cu_seq_lens[item / form.heads], head = item % form.heads;
      const size_t n = cu_seq_lens[item / form.heads + 1] - begin;
      const auto part_at = [&](size_t column) {
        return ConstMatrix(qkv.row(begin) + column, n, d, qkv.stride);
      };
      AttentionTask task = task_of(form, head, part_at(form.query_column(head, d)),
                                   part_at(form.key_column(head, d)), buffers.bias[part]);
      task.v = qkv.row(begin) + form.value_column(head, d);
      task.v_stride = qkv.stride;
      task.out = out.row(begin) + head * d;
      task.out_stride = out.stride;
      task.scratch = floats + part * part_floats;
      (is_narrow(form, n) ? kernels().attention_bf16 : kernels().attention)(task);
    }
  };
  if (parts == 1) return run(0);
  team->run([&](int part, int) { run(static_cast<size_t>(part)); });
}

void attention_head_weights(const AttentionForm& form, size_t head, ConstMatrix q, ConstMatrix k,
                            Matrix scores, Matrix probabilities) {
  Buffer bias;
  AttentionTask task = task_of(form, head, q, k, bias);
  Buffer scratch(attention_scratch(task.n, task.d));
  task.scratch = scratch.data();
  task.scores = scores.data;
  task.scores_stride = scores.stride;
  task.probabilities = probabilities.data;
  task.probabilities_stride = probabilities.stride;
  kernels().attention(task);
}

}  // namespace bert
