#include "predict/whitening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "ops/dtype.h"

namespace bert {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(Error::Kind::data, path, what);
}

std::vector<double> read_doubles(const std::string& path, const SafetensorsEntry& entry) {
  uint64_t size = 0;
  checked_elements(entry.shape, size);
  std::vector<double> values(size);
  if (entry.dtype == "F64") {
    std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  } else {
    const DType types[] = {DType::f32, DType::f16, DType::bf16};
    const auto* type = std::find_if(std::begin(types), std::end(types),
                                    [&](DType t) { return entry.dtype == dtype_name(t); });
    if (type == std::end(types)) {
      refuse(path, fmt::format("tensor '{}' has the type {}, wants a float type", entry.name,
                               printable(entry.dtype)));
    }
    std::vector<float> floats(size);
    to_float(*type, entry.bytes.data(), floats);
    std::copy(floats.begin(), floats.end(), values.begin());
  }
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    refuse(path, fmt::format("tensor '{}' has a number that is not finite", entry.name));
  }
  return values;
}

double dot(const double* a, const double* b, size_t n) {
  double sums[8] = {};  // which the compiler may keep in one register
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  double sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const double part : sums) sum += part;
  return sum;
}

/// Turns rows a and b [n] so that they are orthogonal; whether they were not.
bool make_orthogonal(double* a, double* b, size_t n) {
  const double aa = dot(a, a, n), bb = dot(b, b, n), ab = dot(a, b, n);
  if (std::abs(ab) <= 1e-15 * std::sqrt(aa * bb)) return false;
  const double zeta = (bb - aa) / (2 * ab);
  const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  const double c = 1 / std::sqrt(1 + t * t), s = c * t;
  for (size_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
  return true;
}

/// Eigenvalues and eigenvectors of a symmetric matrix without negative eigenvalues, by turning its
/// rows until they are orthogonal: then they are eigenvectors, as long as their eigenvalues
/// (one-sided Jacobi; Hestenes 1958).
void solve_rows(std::vector<double>& rows, size_t n) {
  constexpr int kMostSweeps = 60;  // about ten are enough
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool turned = false;
    for (size_t i = 0; i + 1 < n; ++i) {
      for (size_t k = i + 1; k < n; ++k) turned |= make_orthogonal(&rows[i * n], &rows[k * n], n);
    }
    if (!turned) return;
  }
}

}  // namespace

Whitening Whitening::open(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  Whitening whitening;
  size_t columns = 0;
  for (const SafetensorsEntry& entry : read_safetensors(file.bytes(), path)) {
    if (entry.name == "mean" && entry.shape.size() == 1) {
      whitening.mean_ = read_doubles(path, entry);
    } else if (entry.name == "kernel" && entry.shape.size() == 2) {
      whitening.kernel_ = read_doubles(path, entry);
      columns = entry.shape[1];
    } else {
      refuse(path, fmt::format("found the tensor '{}' {}, wants mean [D] and kernel [D, K]",
                               printable(entry.name), shape_text(entry.shape)));
    }
  }
  const size_t width = whitening.mean_.size();
  if (width == 0 || columns == 0 || whitening.kernel_.size() != width * columns) {
    refuse(path, "wants the tensors mean [D] and kernel [D, K]");
  }
  return whitening;
}

void Whitening::save(OutputFile& file) const {
  const SafetensorsTensor tensors[] = {
      {"mean", "F64", {mean_.size()}, std::as_bytes(std::span(mean_))},
      {"kernel", "F64", {mean_.size(), width()}, std::as_bytes(std::span(kernel_))}};
  write_safetensors(file, tensors);
  file.commit();
}

void Whitening::apply(ConstMatrix x, Matrix y) const {
  const size_t columns = width();
  std::vector<double> sums(columns);
  for (size_t r = 0; r < x.rows; ++r) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t i = 0; i < mean_.size(); ++i) {
      const double centred = static_cast<double>(x.row(r)[i]) - mean_[i];
      const double* row = &kernel_[i * columns];
      for (size_t k = 0; k < columns; ++k) sums[k] += centred * row[k];
    }
    std::transform(sums.begin(), sums.end(), y.row(r),
                   [](double sum) { return static_cast<float>(sum); });
  }
}

WhiteningSum::WhiteningSum(size_t width)
    : width_(width), shift_(width), sum_(width), squares_(width * width) {}

void WhiteningSum::add(std::span<const float> vector) {
  if (!std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); })) return;
  if (count_++ == 0) std::copy(vector.begin(), vector.end(), shift_.begin());
  std::vector<double> x(width_);
  for (size_t i = 0; i < width_; ++i) {
    x[i] = static_cast<double>(vector[i]) - shift_[i];
    sum_[i] += x[i];
  }
  for (size_t i = 0; i < width_; ++i) {
    double* row = &squares_[i * width_];
    for (size_t k = 0; k <= i; ++k) row[k] += x[i] * x[k];
  }
}

Whitening WhiteningSum::solve(size_t dims) const {
  const size_t n = width_;
  if (count_ < 2) {
    throw Error(
        Error::Kind::data, "",
        fmt::format("whitening is learned from the vectors of 2 texts at least, found {}", count_));
  }
  Whitening result;
  result.mean_.resize(n);
  const auto count = static_cast<double>(std::max<size_t>(count_, 1));
  for (size_t i = 0; i < n; ++i) result.mean_[i] = shift_[i] + sum_[i] / count;
  std::vector<double> rows(n * n);  // the covariance
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k <= i; ++k) {
      const double covariance = (squares_[i * n + k] - sum_[i] * (sum_[k] / count)) / count;
      rows[i * n + k] = rows[k * n + i] = covariance;
    }
  }
  solve_rows(rows, n);

  std::vector<double> variances(n);
  for (size_t i = 0; i < n; ++i) variances[i] = std::sqrt(dot(&rows[i * n], &rows[i * n], n));
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return variances[a] > variances[b]; });
  const double least = variances[order[0]] * 1e-12;  // below it, rounding decides
  const auto varied = static_cast<size_t>(
      std::count_if(variances.begin(), variances.end(), [&](double v) { return v > least; }));
  if (varied < dims) {
    throw Error::of_field("dims",
                          fmt::format("found {}, wants at most {}: the {} vectors vary in no more "
                                      "directions",
                                      dims, varied, count_),
                          Error::Kind::data);
  }
  result.kernel_.resize(n * dims);
  for (size_t k = 0; k < dims; ++k) {
    const double* row = &rows[order[k] * n];  // variance times eigenvector
    const double* most = std::max_element(
        row, row + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double variance = std::copysign(variances[order[k]], *most);
    const double scale = 1 / (variance * std::sqrt(std::abs(variance)));
    for (size_t i = 0; i < n; ++i) result.kernel_[i * dims + k] = row[i] * scale;
  }
  return result;
}

}  // namespace bert
