#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/task.h"
#include "trainers/examples.h"

namespace bert {

/// The names of what a dev set may be judged by, the usual one first and `loss` last.
std::vector<std::string> measures_of(HeadKind task, LabelKind kind);
/// The one of these that a user names: `f1` is the one that ends so. Throws Error (`metric`).
std::string chosen_measure(std::string_view name, std::span<const std::string> measures);
/// Whether a lower value is better.
bool lower_is_better(std::string_view measure);

/// The mean of some numbers, and their standard deviation, that of a sample.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(std::span<const double> values);

/// A dev example as it went: for people.
struct DevLine {
  double loss = 0;
  size_t origin = 0;
  std::string truth, predicted;
};
/// Writes the lines, worst first, as loss, true, predicted, text. Lines of one origin are one, of
/// the largest loss. Throws Error as write_whole_file().
void write_dev_lines(std::vector<DevLine> lines, std::span<const std::string> texts,
                     const std::string& path);

}  // namespace bert
