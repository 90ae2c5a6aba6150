#include "metrics/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/doubt.h"

namespace bert {
namespace {

constexpr double kUnits = 1 << 30;

double bound(size_t bin) {
  return static_cast<double>(bin) / static_cast<double>(Calibration::kBins);
}

}  // namespace

double Calibration::Bin::confidence() const {
  return static_cast<double>(units) / kUnits / static_cast<double>(records);
}

double Calibration::Bin::accuracy() const {
  return static_cast<double>(right) / static_cast<double>(records);
}

void Calibration::add(double probability, bool right) {
  if (std::isnan(probability)) return;
  size_t bin = 0;
  while (bin + 1 < kBins && probability > bound(bin + 1)) ++bin;
  const std::lock_guard lock(mutex_);
  ++bins_[bin].records;
  bins_[bin].right += right;
  bins_[bin].units += std::llround(probability * kUnits);
}

double Calibration::error() const {
  double sum = 0, records = 0;
  for (const Bin& bin : bins_) {
    if (bin.records == 0) continue;
    records += static_cast<double>(bin.records);
    sum += static_cast<double>(bin.records) * std::abs(bin.accuracy() - bin.confidence());
  }
  return sum / records;
}

std::string Calibration::report() const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("ece\t{}\n", number_text(error()));
  for (size_t b = 0; b < kBins; ++b) {
    const Bin& bin = bins_[b];
    text +=
        fmt::format("bin\t{}\t{}\t{}\t{}\t{}\n", number_text(bound(b)), number_text(bound(b + 1)),
                    bin.records, number_text(bin.confidence()), number_text(bin.accuracy()));
  }
  return text;
}

void Calibration::add_to(JsonRow& json) const {
  const std::lock_guard lock(mutex_);
  json.number("ece", error()).list("bins");
  for (size_t b = 0; b < kBins; ++b) {
    json.object().number("low", bound(b)).number("high", bound(b + 1));
    json.count("records", bins_[b].records).number("confidence", bins_[b].confidence());
    json.number("accuracy", bins_[b].accuracy()).end_object();
  }
  json.end_list();
}

}  // namespace bert
