#include "search/index_graph.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/platform.h"
#include "base/random.h"
#include "search/vector_search.h"

namespace bert {

double length_of(std::span<const float> x) { return std::sqrt(dot_in_doubles(x, x)); }

void to_unit(std::span<const float> x, float* unit) {
  const double length = length_of(x);
  for (size_t i = 0; i < x.size(); ++i) {
    unit[i] = length > 0 ? static_cast<float>(x[i] / length) : 0;
  }
}

void RowSpace::take(const MatrixFile& vectors, const VectorBundles& bundles,
                    std::vector<float> lengths) {
  // The products of floats would overflow or vanish.
  const bool extreme = !std::all_of(lengths.begin(), lengths.end(), [](float inv) {
    return inv == 0 || (inv > 1e-9f && inv < 1e9f);
  });
  const float* const floats = extreme ? nullptr : vectors.floats();
  inverse = std::move(lengths);
  width = vectors.cols();
  rows.resize(bundles.size());
  const Matrix own = floats ? Matrix() : converted.matrix(rows.size(), width);
  Buffer scratch;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t first = bundles.first_of(i);
    rows[i] = floats ? floats + first * width : own.row(i);
    if (floats) continue;
    const float* row = vectors.read(first, 1, scratch).data;
    if (extreme) {
      to_unit({row, width}, own.row(i));
      inverse[i] = inverse[i] == 0 ? 0 : 1;
    } else {
      std::copy_n(row, width, own.row(i));
    }
  }
}

std::vector<float> inverse_lengths(const VectorSource& vectors, const VectorBundles& bundles) {
  std::vector<float> inverse(bundles.size());
  Buffer scratch;
  for (size_t i = 0; i < inverse.size(); ++i) {
    const ConstMatrix row = vectors.read(bundles.first_of(i), 1, scratch);
    const double length = length_of({row.data, row.cols});
    inverse[i] = length > 0 ? static_cast<float>(1 / length) : 0;
  }
  return inverse;
}

std::string_view text_of(const MatrixFile& vectors) {
  const auto bytes = vectors.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
uint64_t time_of(const MatrixFile& vectors) {
  struct stat status {};
  if (::stat(vectors.path().c_str(), &status) != 0) {
    throw Error::from_errno(vectors.path(), "cannot stat", errno);
  }
  const timespec time = platform::modification_time(status);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t sample_of(const MatrixFile& vectors) {
  constexpr size_t kPieces = 1024, kPiece = size_t{1} << 16;
  const std::string_view text = text_of(vectors);
  if (text.size() <= kPieces * kPiece) return xxh64(text);
  uint64_t hash = text.size();
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t begin = (text.size() - kPiece) / (kPieces - 1) * i;
    hash = mix(hash, xxh64(text.substr(i + 1 < kPieces ? begin : text.size() - kPiece, kPiece)));
  }
  return hash;
}

}  // namespace bert
