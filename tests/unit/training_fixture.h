#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden.h"
#include "ops/dtype.h"
#include "ops/matrix.h"

namespace bert::test {

/// A file of tests/golden/training; see its README.
class Fixture {
 public:
  explicit Fixture(const std::string& name)
      : file_(MappedFile::open(golden_model("training/" + name + ".safetensors"))) {
    for (SafetensorsEntry& e : read_safetensors(file_.bytes(), name)) {
      entries_.emplace(e.name, std::move(e));
    }
  }
  const std::vector<size_t>& shape(const std::string& name) const { return at(name).shape; }
  std::vector<float> floats(const std::string& name) const {
    const SafetensorsEntry& e = at(name);
    const DType type = e.dtype == "F64" ? DType::f64 : DType::f32;
    std::vector<float> values(e.bytes.size() / dtype_size(type));
    to_float(type, e.bytes.data(), values);
    return values;
  }
  std::vector<double> doubles(const std::string& name) const {
    const SafetensorsEntry& e = at(name);
    std::vector<double> values(e.bytes.size() / sizeof(double));
    std::memcpy(values.data(), e.bytes.data(), e.bytes.size());
    return values;
  }
  std::vector<int32_t> ints(const std::string& name) const {
    const SafetensorsEntry& e = at(name);
    std::vector<int32_t> values(e.bytes.size() / sizeof(int32_t));
    std::memcpy(values.data(), e.bytes.data(), e.bytes.size());
    return values;
  }
  std::vector<size_t> sizes(const std::string& name) const {
    const std::vector<int32_t> values = ints(name);
    return {values.begin(), values.end()};
  }
  std::string text(const std::string& name) const {
    const SafetensorsEntry& e = at(name);
    return {reinterpret_cast<const char*>(e.bytes.data()), e.bytes.size()};
  }
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const auto& [name, e] : entries_) {
      if (name.starts_with(prefix)) found.push_back(name.substr(prefix.size()));
    }
    return found;
  }

 private:
  const SafetensorsEntry& at(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw std::runtime_error("no " + name);
    return found->second;
  }
  MappedFile file_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// A matrix of the fixture, to be written to or not.
struct Data {
  std::vector<float> values;
  size_t rows, cols;
  Data(const Fixture& f, const std::string& name) : values(f.floats(name)) {
    const auto& shape = f.shape(name);
    rows = shape.size() == 1 ? 1 : shape[0];
    cols = shape.back();
  }
  Data(size_t r, size_t c) : values(r * c, 0.f), rows(r), cols(c) {}
  Matrix matrix() { return {values.data(), rows, cols}; }
};

/// The largest difference, relative to the largest expected number.
inline double error(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0, scale = 1e-6;
  for (size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i]));
    scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
    if (std::isnan(found[i])) return 1e9;
  }
  return worst / scale;
}

}  // namespace bert::test
