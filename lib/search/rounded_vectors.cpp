#include "search/rounded_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/team.h"
#include "io/output_file.h"
#include "ops/linear.h"
#include "ops/panels.h"
#include "search/indexed_vectors.h"
#include "search/vector_search.h"

namespace bert {
namespace {

/// The begin of the file. Panels of 16 vectors follow, each a panel of the int8 layout (linear.h)
/// and its facts; then a hash of some of the panels.
struct Header {
  char magic[8] = {'B', 'E', 'R', 'T', 'R', 'O', 'W', '8'};
  uint64_t version = 1, layout = kBlockedLayout;
  IndexedVectors of;
  uint64_t unused[7] = {};
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 128);

/// What a panel says of its vectors; both are NaN if a length is too large or too small for
/// products of floats.
struct PanelFacts {
  float lengths[kVectorsOfPanel];
  float moved[kVectorsOfPanel];  ///< how far rounding has moved them, rounded up
};
static_assert(sizeof(PanelFacts) == 128);

/// Lengths in which no product of components matters that underflows.
constexpr double kLeast = 1e-12, kMost = 1e12;

constexpr size_t kPanelsAtOnce = 64;
constexpr size_t kSample = 1024;  ///< panels of a large file whose bytes are compared

size_t panels_of(size_t rows) { return (rows + kVectorsOfPanel - 1) / kVectorsOfPanel; }
size_t panel_bytes(size_t width) { return blocked_bytes(Precision::int8, kVectorsOfPanel, width); }
size_t stride_of(size_t width) { return panel_bytes(width) + sizeof(PanelFacts); }
bool in_sample(size_t panel, size_t panels) {
  return panel % std::max<size_t>(1, panels / kSample) == 0 || panel + 1 == panels;
}
std::string_view text_of(const std::byte* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// How far x was moved, with what the floats of `rounded` are off.
double distance(std::span<const float> x, std::span<const float> rounded) {
  double sum = 0, size = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    const double moved = static_cast<double>(x[d]) - static_cast<double>(rounded[d]);
    sum += moved * moved;
    size += static_cast<double>(rounded[d]) * static_cast<double>(rounded[d]);
  }
  return std::sqrt(sum) + 0x1p-24 * std::sqrt(size);
}

PanelFacts facts_of(ConstMatrix x, const std::byte* panel) {
  PanelFacts facts;
  std::vector<float> rounded(x.cols);
  for (size_t i = 0; i < kVectorsOfPanel; ++i) {
    facts.lengths[i] = facts.moved[i] = std::numeric_limits<float>::quiet_NaN();
    if (i >= x.rows) continue;
    const std::span<const float> row(x.row(i), x.cols);
    const double length = std::sqrt(dot_in_doubles(row, row));
    if (!(length > kLeast && length < kMost)) continue;
    unblock_row({panel, Precision::int8, kVectorsOfPanel, x.cols}, i, rounded);
    facts.lengths[i] = static_cast<float>(length);
    facts.moved[i] = std::nextafter(static_cast<float>(distance(row, rounded)), 1e30f);
  }
  return facts;
}

/// Writes the panels of x, `stride_of` bytes each.
void round_rows(ConstMatrix x, std::byte* out) {
  for (size_t first = 0; first < x.rows; first += kVectorsOfPanel) {
    const ConstMatrix some = x.slice(first, std::min(kVectorsOfPanel, x.rows - first));
    const WeightRef weight{reinterpret_cast<const std::byte*>(some.data), DType::f32, some.rows,
                           some.cols};
    block_weights({&weight, 1}, Precision::int8, {}, out);
    const PanelFacts facts = facts_of(some, out);
    std::memcpy(out + panel_bytes(x.cols), &facts, sizeof facts);
    out += stride_of(x.cols);
  }
}

}  // namespace

void RoundedVectors::build(const std::string& path, const MatrixFile& vectors, uint64_t model,
                           int threads) {
  OutputFile out(path);  // before the work
  Header header;
  header.of = IndexedVectors::of(vectors, model);
  out.write(text_of(reinterpret_cast<const std::byte*>(&header), sizeof header));
  Team team(std::max(1, threads));
  const size_t panels = panels_of(vectors.rows()), stride = stride_of(vectors.cols());
  std::vector<std::exception_ptr> errors(static_cast<size_t>(team.size()));
  std::vector<Buffer> rounded(errors.size()), scratch(errors.size());
  StreamHash hash(panels);
  for (size_t done = 0; done < panels; done += errors.size() * kPanelsAtOnce) {
    const auto begin_of = [&](size_t part) {
      return std::min(panels, done + part * kPanelsAtOnce);
    };
    team.run([&](int index, int) {
      const auto part = static_cast<size_t>(index);
      const size_t first = begin_of(part) * kVectorsOfPanel;
      const size_t end = std::min(vectors.rows(), begin_of(part + 1) * kVectorsOfPanel);
      auto* to = reinterpret_cast<std::byte*>(rounded[part].reserve(kPanelsAtOnce * stride / 4));
      try {
        if (first < end) round_rows(vectors.read(first, end - first, scratch[part]), to);
      } catch (...) {
        errors[part] = std::current_exception();
      }
    });
    for (size_t part = 0; part < errors.size(); ++part) {
      if (errors[part]) std::rethrow_exception(errors[part]);
      const auto* bytes = reinterpret_cast<const std::byte*>(rounded[part].data());
      for (size_t p = begin_of(part); p < begin_of(part + 1); ++p, bytes += stride) {
        out.write(std::span(bytes, stride));
        if (in_sample(p, panels)) hash.add(text_of(bytes, stride));
      }
    }
  }
  const uint64_t sample = hash.value();
  out.write(text_of(reinterpret_cast<const std::byte*>(&sample), sizeof sample));
  out.commit();
}

bool RoundedVectors::begins_as_one(const std::string& path) {
  const Header wanted;
  const MappedFile file = MappedFile::open(path);
  return file.text().starts_with(std::string_view(wanted.magic, sizeof wanted.magic));
}

RoundedVectors RoundedVectors::open(const std::string& path, const MatrixFile& vectors,
                                    uint64_t model) {
  RoundedVectors found(MappedFile::open(path));
  const std::span<const std::byte> bytes = found.mapped_.bytes();
  const auto refuse = [&](const char* what) { throw Error(Error::Kind::data, path, what); };
  Header header;
  const Header wanted;
  if (bytes.size() < sizeof header) refuse("is no index of nearest, or is cut");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, wanted.magic, sizeof wanted.magic) != 0)
    refuse("is no index of nearest, or one of another version");
  if (header.version != wanted.version || header.layout != wanted.layout)
    refuse("is an index of another version of nearest: build it again");
  header.of.check(path, vectors, model);
  found.rows_ = vectors.rows();
  found.width_ = vectors.cols();
  found.stride_ = stride_of(found.width_);
  found.panels_ = bytes.data() + sizeof header;
  const size_t panels = panels_of(found.rows_);
  uint64_t sample = 0;
  const bool whole = bytes.size() == sizeof header + panels * found.stride_ + sizeof sample;
  if (!whole) refuse("is damaged: build it again");
  StreamHash hash(panels);
  for (size_t p = 0; p < panels; ++p) {
    if (in_sample(p, panels)) hash.add(text_of(found.panels_ + p * found.stride_, found.stride_));
  }
  std::memcpy(&sample, found.panels_ + panels * found.stride_, sizeof sample);
  if (sample != hash.value()) refuse("is damaged: build it again");
  return found;
}

/// With rounded vectors q' and x', q x - q' x' = q (x - x') + (q - q') x'. So by Cauchy and Schwarz
/// it is at most |q| |x - x'| + |q - q'| |x'|, and |x'| at most |x| + |x - x'|. What the sums of
/// floats are off is a part of |q'| |x'|. The lengths as floats, and a caller's comparisons, are a
/// few roundings more.
ConstMatrix RoundedVectors::products(const Int8Rows& queries, size_t first, size_t count,
                                     Buffer& scratch, Facts& facts) const {
  const size_t panel = first / kVectorsOfPanel, panels = panels_of(count);
  const std::byte* from = panels_ + panel * stride_;
  const size_t places = panels * kVectorsOfPanel;
  const Matrix turned = scratch.matrix(2 * queries.rows(), places).slice(0, queries.rows());
  queries.multiply(from, stride_, panels, turned);
  const double moved = 1.001 * queries.moved();  // the rounding of steps and of their number
  const auto part = static_cast<float>(moved + 2 * queries.error() * (1 + moved) + 16 * 0x1p-24);
  facts.lengths.resize(places);
  facts.errors.resize(places);
  for (size_t p = 0; p < panels; ++p, from += stride_) {
    PanelFacts known;
    std::memcpy(&known, from + stride_ - sizeof known, sizeof known);
    for (size_t i = 0; i < kVectorsOfPanel; ++i) {
      const size_t t = p * kVectorsOfPanel + i;
      facts.lengths[t] = known.lengths[i];
      facts.errors[t] = known.moved[i] + part * (known.lengths[i] + known.moved[i]);
    }
  }
  if (turned.rows == 1) return {turned.data, count, 1};
  const Matrix found(turned.row(turned.rows), count, turned.rows);
  for (size_t q = 0; q < turned.rows; ++q) {
    for (size_t t = 0; t < count; ++t) found.row(t)[q] = turned.row(q)[t];
  }
  return found;
}

}  // namespace bert
