#include "ops/linear.h"

#include <algorithm>
#include <cstring>

#include "base/team.h"
#include "ops/blas.h"
#include "ops/blocked_weights.h"
#include "ops/kernels/kernel_table.h"

namespace bert {
namespace {

/// Panels that are computed together. Kernels of floats take up to three panels at once, of bytes
/// three, of parts (split) four or two.
constexpr size_t kGroupOfFloats = 6;
constexpr size_t kGroupOfBytes = 3;
constexpr size_t kGroupInParts = 16;
constexpr size_t kGroupOnceInParts = 4;  ///< if the panels are not kept

/// Bytes of x that stay in the second-level cache while the weights stream past.
constexpr size_t kCachedRows = 384 * 1024;
/// The same for bf16 on CPUs with AMX, whose second-level cache has two megabytes.
constexpr size_t kCachedNarrow = 1536 * 1024;
/// Rows of parts (split) that stay in that cache, with their sums, while a run of K streams past.
constexpr size_t kRowsInParts = 256;

/// From so many rows on, panels of bf16 are widened to floats once for all rows. For fewer rows the
/// kernel widens them in registers.
constexpr size_t kWidenedRows = 32;

/// Rows of every call of BLAS; the last call is filled up with zeros. BLAS does not promise that
/// equal rows at different places get equal results. With up to 8 rows every core of OpenBLAS gave
/// equal results; with 12 rows the Haswell core does not.
constexpr size_t kBlasRows = 8;

/// Bytes from row to row of rounded inputs: an odd number of cache lines, so that neighbouring rows
/// do not compete for one set of the cache.
size_t row_stride(size_t bytes) { return (round_up(bytes, 64) / 64 | 1) * 64; }

size_t pieces(size_t n, size_t most) { return (n + most - 1) / most; }

/// Widens panels of int8 to bf16, or of bf16 to floats, in `made`.
void widen(GemmTask& part, bool to_floats, float* made) {
  const KernelTable& table = kernels();
  const size_t stride = to_floats ? bf16_as_f32(part.k) : int8_as_bf16(part.k);
  auto* to = reinterpret_cast<std::byte*>(made);
  for (size_t p = 0; p < part.panels; ++p) {
    const std::byte* from = static_cast<const std::byte*>(part.b) + p * part.panel_stride;
    if (to_floats) {
      table.bf16_to_f32(from, part.k, reinterpret_cast<float*>(to + p * stride));
    } else {
      table.int8_to_bf16(from, part.k, to + p * stride);
    }
  }
  part.b = to;
  part.panel_stride = stride;
}

}  // namespace

struct Linear::State {
  BlockedWeights weights;
  Precision precision;
  std::vector<float> bias;          ///< [panels * kPanel], or empty
  std::vector<WeightRef> matrices;  ///< for BLAS: row-major floats; else empty
  std::vector<float> floats;

  State(std::span<const WeightRef> w, std::vector<float> b, Precision p,
        std::span<const float> factors)
      : weights(w, p == Precision::split ? Precision::f32 : p,
                p == Precision::int8 ? factors : std::span<const float>()),
        precision(p),
        bias(std::move(b)) {
    pad_bias();
    if (p == Precision::split && !kernels().gemm_split) precision = Precision::f32;
    if (precision == Precision::f32 && uses_blas()) store_for_blas(w);
  }
  State(const BlockedRef& blocked, std::vector<float> b)
      : weights(blocked), precision(blocked.precision), bias(std::move(b)) {
    pad_bias();
  }

  void pad_bias() {
    if (!bias.empty()) bias.resize(weights.panels() * kPanel);
  }
  void store_for_blas(std::span<const WeightRef> w);
  void prepare(ConstMatrix x, LinearScratch& scratch, GemmTask& task) const;
  void run(const GemmTask& task, size_t first, size_t last, bool keep, float* scratch) const;
  void run_blas(ConstMatrix x, Matrix y, Activation act, ConstMatrix residual,
                float* scratch) const;
  /// Whether bf16 weights are computed as floats.
  bool to_floats() const { return precision == Precision::bf16 && !kernels().gemm_bf16; }
  /// Whether int8 weights are computed as bf16.
  bool to_bf16() const { return precision == Precision::int8 && kernels().int8_to_bf16; }
  /// Whether the kernel multiplies floats.
  bool wide() const { return precision == Precision::f32 || to_floats(); }
  /// Whether the kernel multiplies bytes.
  bool bytes() const { return precision == Precision::int8 && !to_bf16(); }
  /// Bytes of a widened panel; 0 if panels are not widened.
  size_t widened() const {
    return to_floats() ? bf16_as_f32(weights.in()) : to_bf16() ? int8_as_bf16(weights.in()) : 0;
  }
  /// Panels that are computed together.
  size_t group() const {
    if (wide()) return kGroupOfFloats;
    if (bytes()) return kGroupOfBytes;
    if (precision == Precision::split) return kGroupInParts;
    return narrow_group(to_bf16() ? widened() : weights.panel_bytes());
  }
  /// Scratch for panels that are not kept.
  size_t panel_floats() const { return round_up(weights.scratch_floats(group()), 16); }
  size_t scratch_floats(size_t rows) const {
    const size_t made = precision == Precision::split ? split_scratch(rows, group())
                                                      : group() * widened() / sizeof(float);
    return panel_floats() + made;
  }
  size_t blas_floats() const { return kBlasRows * (weights.in() + weights.out()); }
};

Linear::Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

Linear::Linear(WeightRef weight, std::vector<float> bias, Precision precision)
    : Linear(std::span<const WeightRef>(&weight, 1), std::move(bias), precision) {}

Linear::Linear(std::span<const WeightRef> weights, std::vector<float> bias, Precision precision,
               std::span<const float> factors)
    : state_(std::make_unique<State>(weights, std::move(bias), precision, factors)) {}

Linear::Linear(const BlockedRef& blocked, std::vector<float> bias)
    : state_(std::make_unique<State>(blocked, std::move(bias))) {}

size_t Linear::out_features() const { return state_ ? state_->weights.out() : 0; }
size_t Linear::in_features() const { return state_ ? state_->weights.in() : 0; }

void Linear::State::store_for_blas(std::span<const WeightRef> w) {
  const auto usable = [](const WeightRef& weight) {
    return weight.dtype == DType::f32 &&
           reinterpret_cast<uintptr_t>(weight.data) % alignof(float) == 0;
  };
  if (std::all_of(w.begin(), w.end(), usable)) {
    matrices.assign(w.begin(), w.end());
    return;
  }
  floats.resize(weights.out() * weights.in());
  float* to = floats.data();
  for (const WeightRef& weight : w) {
    to_float(weight.dtype, weight.data, {to, weight.out * weight.in});
    to += weight.out * weight.in;
  }
  matrices = {
      {reinterpret_cast<const std::byte*>(floats.data()), DType::f32, weights.out(), weights.in()}};
}

/// Rounds the inputs to the type that the kernels of this precision take.
void Linear::State::prepare(ConstMatrix x, LinearScratch& scratch, GemmTask& task) const {
  const KernelTable& table = kernels();
  const size_t in = weights.in();
  task.a = x.data;
  task.lda = x.stride;
  const std::span<const float> factors = weights.factors();
  float* scaled = scratch.scaled.reserve(factors.size());
  const auto row_of_x = [&](size_t t) -> const float* {
    if (factors.empty()) return x.row(t);
    table.multiply(x.row(t), factors.data(), in, scaled);
    return scaled;
  };
  if (bytes()) {
    const size_t ld = row_stride(in * table.int8_bytes);
    const size_t groups = int8_groups(in);
    const size_t scale_floats = x.rows * groups * sizeof(Int8Scale) / sizeof(float);
    float* floats_of_x = scratch.quantized.reserve(scale_floats + (x.rows * ld + 3) / 4);
    Int8Scale* scales = reinterpret_cast<Int8Scale*>(floats_of_x);
    int8_t* quantized = reinterpret_cast<int8_t*>(floats_of_x + scale_floats);
    for (size_t t = 0; t < x.rows; ++t) {
      table.to_int8(row_of_x(t), in, quantized + t * ld, scales + t * groups);
    }
    task.a = quantized;
    task.lda = ld / table.int8_bytes;
    task.a_scales = scales;
  } else if (precision == Precision::split) {
    const size_t part = row_stride(in * sizeof(uint16_t)) / sizeof(uint16_t);
    auto* parts = reinterpret_cast<uint16_t*>(scratch.quantized.reserve(x.rows * 3 * part / 2));
    for (size_t t = 0; t < x.rows; ++t) table.split(x.row(t), in, part, parts + t * 3 * part);
    task.a = parts;
    task.lda = 3 * part;
  } else if (!wide()) {
    const size_t ld = row_stride(in * sizeof(uint16_t)) / sizeof(uint16_t);
    auto* rounded = reinterpret_cast<uint16_t*>(scratch.quantized.reserve(x.rows * ld / 2));
    for (size_t t = 0; t < x.rows; ++t) table.to_bf16(row_of_x(t), in, rounded + t * ld);
    task.a = rounded;
    task.lda = ld;
  }
}

/// Computes panels [first, last) of the whole product `task`.
void Linear::State::run(const GemmTask& task, size_t first, size_t last, bool keep,
                        float* scratch) const {
  const KernelTable& table = kernels();
  const bool split = precision == Precision::split;
  const bool widens = widened() > 0 && !(to_floats() && task.rows < kWidenedRows);
  const auto gemm = to_floats() && !widens ? table.gemm_bf16_as_f32
                    : wide()               ? table.gemm_f32
                    : bytes()              ? table.gemm_int8
                                           : table.gemm_bf16;
  const size_t most = split && !keep ? kGroupOnceInParts : group();
  const size_t groups = pieces(last - first, most);
  // Rows are cut into blocks that stay in cache, unless each block would have to make the panels
  // again.
  const size_t row_bytes = task.lda * (wide() ? 4 : bytes() ? table.int8_bytes : 2);
  const size_t cached = !wide() && !bytes() && table.narrow_bytes > 0 ? kCachedNarrow : kCachedRows;
  const size_t fitting = split ? kRowsInParts : std::max<size_t>(32, cached / row_bytes / 32 * 32);
  const size_t block = keep && !to_floats() ? fitting : task.rows;
  float* made = scratch + panel_floats();
  for (size_t row = 0; row < task.rows; row += block) {
    for (size_t g = 0; g < groups; ++g) {
      const size_t p = first + (last - first) * g / groups;
      const size_t count = first + (last - first) * (g + 1) / groups - p;
      GemmTask part = task;
      part.rows = std::min(block, task.rows - row);
      part.a = static_cast<const char*>(task.a) + row * row_bytes;
      if (task.a_scales) part.a_scales = task.a_scales + row * int8_groups(task.k);
      part.b = weights.group(p, count, keep, scratch);
      part.panel_stride = weights.panel_bytes();
      part.panels = count;
      part.cols = std::min(count * kPanel, weights.out() - p * kPanel);
      part.c = task.c + row * task.ldc + p * kPanel;
      if (task.bias) part.bias = task.bias + p * kPanel;
      if (task.residual) part.residual = task.residual + row * task.ldr + p * kPanel;
      if (widens) widen(part, to_floats(), made);
      split ? table.gemm_split(part, made) : gemm(part);
    }
  }
}

/// Computes all of y by BLAS.
void Linear::State::run_blas(ConstMatrix x, Matrix y, Activation act, ConstMatrix residual,
                             float* scratch) const {
  const KernelTable& table = kernels();
  const size_t in = weights.in(), out = weights.out();
  float* a = scratch;
  float* c = scratch + kBlasRows * in;
  for (size_t row = 0; row < x.rows; row += kBlasRows) {
    const size_t rows = std::min(kBlasRows, x.rows - row);
    std::memset(a, 0, kBlasRows * in * sizeof(float));
    for (size_t r = 0; r < rows; ++r) std::memcpy(a + r * in, x.row(row + r), in * sizeof(float));
    size_t column = 0;
    for (const WeightRef& w : matrices) {
      blas_gemm_nt(a, in, reinterpret_cast<const float*>(w.data), in, c + column, out, kBlasRows,
                   w.out, in);
      column += w.out;
    }
    for (size_t r = 0; r < rows; ++r) {
      if (!bias.empty()) table.add(bias.data(), out, c + r * out);
      table.activate(static_cast<int>(act), c + r * out, out);
      if (residual.data) table.add(residual.row(row + r), out, c + r * out);
      std::memcpy(y.row(row + r), c + r * out, out * sizeof(float));
    }
  }
}

void Linear::operator()(ConstMatrix x, Matrix y, Activation act, LinearScratch& scratch,
                        ConstMatrix residual) const {
  const State& s = *state_;
  if (x.rows == 0) return;
  const size_t parts = scratch.team ? static_cast<size_t>(scratch.team->size()) : 1;
  if (!s.matrices.empty()) {
    float* floats = scratch.panel.reserve(parts * s.blas_floats());
    const size_t tiles = pieces(x.rows, kBlasRows);
    const auto run_part = [&](size_t part) {
      const size_t first = std::min(x.rows, tiles * part / parts * kBlasRows);
      const size_t count = std::min(x.rows, tiles * (part + 1) / parts * kBlasRows) - first;
      s.run_blas(x.slice(first, count), y.slice(first, count), act,
                 residual.data ? residual.slice(first, count) : residual,
                 floats + part * s.blas_floats());
    };
    if (parts == 1) return run_part(0);
    return scratch.team->run([&](int part, int) { run_part(static_cast<size_t>(part)); });
  }

  GemmTask task;
  task.step = kPanel;
  task.rows = x.rows;
  task.k = s.weights.in();
  task.c = y.data;
  task.ldc = y.stride;
  task.bias = s.bias.empty() ? nullptr : s.bias.data();
  task.residual = residual.data;
  task.ldr = residual.stride;
  const bool rounds = s.precision == Precision::bf16 || s.precision == Precision::int8;
  task.activation = rounds && act == Activation::gelu ? kGeluNear : static_cast<int>(act);
  s.prepare(x, scratch, task);

  const bool keep = s.weights.keep();
  const size_t part_floats = s.scratch_floats(x.rows);
  float* panel = scratch.panel.reserve(parts * part_floats);
  const size_t panels = s.weights.panels();
  if (parts == 1) return s.run(task, 0, panels, keep, panel);
  scratch.team->run([&](int p, int) {
    const size_t part = static_cast<size_t>(p);
    s.run(task, panels * part / parts, panels * (part + 1) / parts, keep,
          panel + part * part_floats);
  });
}

}  // namespace bert
