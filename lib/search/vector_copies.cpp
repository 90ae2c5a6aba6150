#include "search/vector_copies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/hash.h"
#include "base/random.h"
#include "search/vector_search.h"

namespace bert {
namespace {

struct Hashed {
  uint64_t hash, index;
};
void sort_by_hash(std::vector<Hashed>& hashes) {
  std::sort(hashes.begin(), hashes.end(), [](const Hashed& a, const Hashed& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
  });
}

std::string_view bytes_of(ConstMatrix row) {
  return {reinterpret_cast<const char*>(row.data), row.cols * sizeof(float)};
}
std::span<const float> span_of(ConstMatrix row) { return {row.data, row.cols}; }

/// Tells which cell a direction is in. Near copies nearly always share a cell: it has the width of
/// 1/64 in each of a few random projections of the unit vector, where copies differ by much less.
class Cells {
 public:
  explicit Cells(size_t width) {
    for (size_t p = 0; p < projections_.size(); ++p) {
      for (size_t d = 0; d < width; ++d) {
        projections_[p].push_back(static_cast<float>(mix(p, d) >> 40) * 0x1p-23f - 1);
      }
    }
  }
  uint64_t operator()(std::span<const float> x) const {
    const double length = std::sqrt(dot_in_doubles(x, x));
    uint64_t cell = 0;
    for (const std::vector<float>& p : projections_) {
      const double at = length > 0 ? 64 * dot_in_doubles(p, x) / length : 1e9;
      cell = mix(cell, static_cast<uint64_t>(static_cast<int64_t>(std::floor(at))));
    }
    return cell;
  }

 private:
  std::array<std::vector<float>, 6> projections_;  ///< [D] each, between -1 and 1
};

bool near(std::span<const float> a, std::span<const float> b) {
  const double aa = dot_in_doubles(a, a), bb = dot_in_doubles(b, b);
  if (aa == 0 || bb == 0) return aa == bb;
  return cosine_of(dot_in_doubles(a, b), aa, bb) >= 1 - 1e-6;
}

/// [N]: the first vector of the bundle of each original.
std::vector<uint64_t> leaders(const VectorSource& vectors, const std::vector<uint64_t>& original) {
  constexpr size_t kMostTried = 64;  // bounds the comparisons of vectors that share a cell
  const Cells cell(vectors.width);
  Buffer scratch, other;
  std::vector<Hashed> cells;
  for (uint64_t i = 0; i < vectors.rows; ++i) {
    if (original[i] == i) cells.push_back({cell(span_of(vectors.read(i, 1, scratch))), i});
  }
  sort_by_hash(cells);
  std::vector<uint64_t> leader(vectors.rows), found;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i == 0 || cells[i].hash != cells[i - 1].hash) found.clear();
    const uint64_t index = cells[i].index;
    const auto x = span_of(vectors.read(index, 1, scratch));
    const auto end = found.begin() + std::min(found.size(), kMostTried);
    const auto match = std::find_if(found.begin(), end, [&](uint64_t f) {
      return near(x, span_of(vectors.read(f, 1, other)));
    });
    if (match == end) found.push_back(index);
    leader[index] = match == end ? index : *match;
  }
  return leader;
}

}  // namespace

std::vector<uint64_t> originals(const VectorSource& vectors) {
  Buffer scratch, other;
  std::vector<Hashed> hashes;
  for (size_t i = 0; i < vectors.rows; ++i) {
    const ConstMatrix row = vectors.read(i, 1, scratch);
    const bool zero = std::all_of(row.data, row.data + row.cols, [](float x) { return x == 0; });
    if (!zero) hashes.push_back({xxh64(bytes_of(row)), i});
  }
  sort_by_hash(hashes);
  std::vector<uint64_t> original(vectors.rows);
  std::iota(original.begin(), original.end(), uint64_t{0});
  for (size_t begin = 0, i = 1; i < hashes.size(); ++i) {
    if (hashes[i].hash != hashes[begin].hash) {
      begin = i;
    } else if (bytes_of(vectors.read(hashes[begin].index, 1, scratch)) ==
               bytes_of(vectors.read(hashes[i].index, 1, other))) {
      original[hashes[i].index] = hashes[begin].index;
    }
  }
  return original;
}

VectorSource some_of(const VectorSource& vectors, const std::vector<uint64_t>& indices) {
  return {indices.size(), vectors.width, [&](size_t first, size_t count, Buffer& scratch) {
            const Matrix rows = scratch.matrix(count, vectors.width);
            Buffer own;
            for (size_t i = 0; i < count; ++i) {
              copy(vectors.read(indices[first + i], 1, own), rows.slice(i, 1));
            }
            return ConstMatrix(rows);
          }};
}

VectorBundles bundle_copies(const VectorSource& vectors) {
  const std::vector<uint64_t> original = originals(vectors);
  const std::vector<uint64_t> leader = leaders(vectors, original);
  const auto place = [&](uint32_t row) {
    return std::array<uint64_t, 3>{leader[original[row]], original[row], row};
  };
  VectorBundles found;
  found.rows.resize(vectors.rows);
  std::iota(found.rows.begin(), found.rows.end(), uint32_t{0});
  std::sort(found.rows.begin(), found.rows.end(),
            [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const auto here = place(found.rows[i]);
    if (here[2] != here[1]) continue;  // a copy
    if (here[1] == here[0]) found.bundles.push_back(static_cast<uint32_t>(found.vectors.size()));
    found.vectors.push_back(static_cast<uint32_t>(i));
  }
  found.bundles.push_back(static_cast<uint32_t>(found.vectors.size()));
  found.vectors.push_back(static_cast<uint32_t>(found.rows.size()));
  return found;
}

}  // namespace bert
