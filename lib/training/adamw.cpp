#include "training/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bert::training {

double schedule_factor(const OptimizerOptions& options, uint64_t step) {
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup_steps);
  if (now < warmup) return now / std::max(1., warmup);
  const double rest = std::max(1., static_cast<double>(options.total_steps) - warmup);
  const double done = std::min(1., (now - warmup) / rest);
  switch (options.schedule) {
    case Schedule::linear:
      return 1 - done;
    case Schedule::cosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
    default:
      return 1;
  }
}

AdamWTask adamw_task(const OptimizerOptions& o, uint64_t step, double rate, bool decays) {
  const auto t = static_cast<double>(step + 1);
  AdamWTask a;
  a.beta1 = static_cast<float>(o.beta1);
  a.beta2 = static_cast<float>(o.beta2);
  a.rest1 = static_cast<float>(1 - o.beta1);
  a.rest2 = static_cast<float>(1 - o.beta2);
  a.keep = decays ? static_cast<float>(1 - rate * o.weight_decay) : 1.f;
  a.step = static_cast<float>(rate / (1 - std::pow(o.beta1, t)));
  a.root_bias_correction2 = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
  a.epsilon = static_cast<float>(o.epsilon);
  return a;
}

}  // namespace bert::training
