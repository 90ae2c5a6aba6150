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

}  // namespace bert::training
