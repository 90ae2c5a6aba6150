#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/doubt.h"

namespace bert {

/// Intervals of pearson, spearman and mse of predicted against gold values.
std::vector<DoubtedMeasure> value_intervals(std::span<const double> gold,
                                            std::span<const double> predicted, uint64_t seed);
/// How predicted values differ from other ones in the same measures.
std::vector<MeasureDifference> value_differences(std::span<const double> gold,
                                                 std::span<const double> predicted,
                                                 std::span<const double> other, uint64_t seed);

}  // namespace bert
