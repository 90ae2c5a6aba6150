#include "rows/vector_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"

namespace bert {
namespace {

constexpr double kMostByte = 127;

void append_bytes(std::span<const float> vector, std::optional<double> scale, std::string& out) {
  double most = 0;
  for (const float x : vector) most = std::max(most, std::abs(static_cast<double>(x)));
  if (scale && std::rint(most * *scale) > kMostByte) {
    throw Error(
        Error::Kind::data, "",
        fmt::format("`scale` makes {:.6g} to {:.6g}, wants at most 127", most, most * *scale));
  }
  const double factor = scale ? *scale : most > 0 ? kMostByte / most : 0;
  for (const float x : vector) {
    out.push_back(
        static_cast<char>(static_cast<int8_t>(std::rint(static_cast<double>(x) * factor))));
  }
}

void append_bits(std::span<const float> vector, std::string& out) {
  for (size_t i = 0; i < vector.size(); i += 8) {
    unsigned byte = 0;
    for (size_t k = 0; k < std::min<size_t>(8, vector.size() - i); ++k) {
      byte |= static_cast<unsigned>(vector[i + k] > 0) << (7 - k);
    }
    out.push_back(static_cast<char>(byte));
  }
}

}  // namespace

std::string_view npy_type(VectorFormat format) {
  constexpr std::string_view kTypes[] = {"", "<f4", "", "|i1", "|u1"};
  return kTypes[static_cast<size_t>(format)];
}

size_t npy_columns(VectorFormat format, size_t width) {
  return format == VectorFormat::bits ? (width + 7) / 8 : width;
}

size_t row_bytes(VectorFormat format, size_t width) {
  const bool floats = format == VectorFormat::npy || format == VectorFormat::f32;
  return npy_columns(format, width) * (floats ? sizeof(float) : 1);
}

void append_vector(VectorFormat format, std::span<const float> vector, std::optional<double> scale,
                   std::string& out) {
  const bool finite =
      std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); });
  if (format == VectorFormat::npy || format == VectorFormat::f32) {
    out.append(reinterpret_cast<const char*>(vector.data()), vector.size_bytes());
  } else if (!finite) {
    out.append(row_bytes(format, vector.size()), '\0');
  } else if (format == VectorFormat::i8) {
    append_bytes(vector, scale, out);
  } else {
    append_bits(vector, out);
  }
}

std::string bad_vector(VectorFormat format, size_t width) {
  std::string row;
  const std::vector<float> vector(width, std::numeric_limits<float>::quiet_NaN());
  append_vector(format, vector, {}, row);
  return row;
}

}  // namespace bert
