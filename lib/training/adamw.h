#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/gradient_kernels.h"

namespace bert::training {

/// How the learning rate changes over the steps; names and values as in transformers.
enum class Schedule { linear, cosine, constant };

/// AdamW (Loshchilov and Hutter 2019) with PyTorch's meaning of each number.
struct OptimizerOptions {
  double learning_rate = 5e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< not for biases and layer norms
  double max_grad_norm = 1;    ///< 0: gradients are not clipped
  Schedule schedule = Schedule::linear;
  uint64_t warmup_steps = 0;
  uint64_t total_steps = 0;  ///< linear and cosine reach 0 here
};

/// The factor of the learning rate in step `step`, counted from 0. It rises from 0 during the
/// warm-up; then the schedule decides.
double schedule_factor(const OptimizerOptions& options, uint64_t step);

/// The numbers of step `step`, counted from 0, at this learning rate; the arrays are the caller's.
AdamWTask adamw_task(const OptimizerOptions& options, uint64_t step, double rate, bool decays);

}  // namespace bert::training
