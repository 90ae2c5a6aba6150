#pragma once

#include <span>

#include "metrics/doubt.h"

namespace bert {

/// How sure pearson, spearman and mse of predicted against gold values are. Neither the order of
/// the records nor the number of threads changes a bit of it.
Doubt value_doubt(std::span<const double> gold, std::span<const double> predicted,
                  const Resampling& how);
/// The same, and how the measures differ from those of other predicted values.
Doubt value_doubt(std::span<const double> gold, std::span<const double> predicted,
                  std::span<const double> other, const Resampling& how);

}  // namespace bert
