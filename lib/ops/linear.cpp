#include "ops/linear.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/cpu.h"
#include "base/team.h"
#include "ops/kernel_table.h"

namespace bert {
namespace {

/// Products after which the blocks of a float matrix are kept. Blocking it anew costs each product
/// as much as reading it a few times; keeping costs once the first touch of that much memory, which
/// is ten times more.
constexpr int kKeepAfter = 16;

/// Panels that are computed together.
constexpr size_t kGroup = 3;

enum PanelState : uint8_t { kEmpty, kBusy, kKept };

}  // namespace

struct Linear::State {
  std::vector<WeightRef> weights;
  std::vector<float> owned;  ///< matrices of mixed types, as floats
  std::vector<float> bias;   ///< [panels * kPanel], or empty
  size_t out = 0;
  size_t in = 0;
  size_t panels = 0;
  Precision precision = Precision::f32;
  bool emulate_bf16 = false;
  size_t panel_bytes = 0;

  // The blocks, filled while products run. `blocks` is set once; a thread that finds a panel busy
  // packs it in its own scratch instead of waiting.
  mutable std::atomic<std::byte*> blocks{nullptr};
  mutable std::atomic<bool> refused{false};  ///< no memory for blocks: never try again
  mutable std::atomic<int> products{0};
  std::unique_ptr<std::atomic<uint8_t>[]> panel_states;

  ~State() {
    if (std::byte* data = blocks.load()) munmap(data, panels * panel_bytes);
  }

  bool keeps() const;
  void pack(size_t panel, float* floats, std::byte* to) const;
  const std::byte* group(size_t first, size_t count, bool keep, float* scratch) const;
  void run(GemmTask task, size_t first, size_t last, bool keep, float* scratch) const;
};

Linear::Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

Linear::Linear(WeightRef weight, std::vector<float> bias, Precision precision)
    : Linear(std::span<const WeightRef>(&weight, 1), std::move(bias), precision) {}

Linear::Linear(std::span<const WeightRef> weights, std::vector<float> bias, Precision precision)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.weights.assign(weights.begin(), weights.end());
  s.in = weights.front().in;
  bool mixed = false;
  for (const WeightRef& weight : weights) {
    s.out += weight.out;
    mixed |= weight.dtype != weights.front().dtype;
  }
  if (mixed) {
    s.owned.resize(s.out * s.in);
    float* to = s.owned.data();
    for (const WeightRef& weight : weights) {
      to_float(weight.dtype, weight.data, {to, weight.out * s.in});
      to += weight.out * s.in;
    }
    s.weights = {{reinterpret_cast<const std::byte*>(s.owned.data()), DType::f32, s.out, s.in}};
  }
  s.panels = round_up(s.out, kPanel) / kPanel;
  s.bias = std::move(bias);
  if (!s.bias.empty()) s.bias.resize(s.panels * kPanel);
  s.precision = precision;
  s.emulate_bf16 = precision == Precision::bf16 && !(cpu_bf16() && kernels().gemm_bf16);
  s.panel_bytes = s.in * kPanel * sizeof(float);
  if (precision == Precision::int8) s.panel_bytes = 128 + round_up(s.in, 4) * kPanel;
  if (precision == Precision::bf16 && !s.emulate_bf16)
    s.panel_bytes = round_up(s.in, 2) * kPanel * 2;
  s.panel_states = std::make_unique<std::atomic<uint8_t>[]>(s.panels);
}

size_t Linear::out_features() const { return state_ ? state_->out : 0; }
size_t Linear::in_features() const { return state_ ? state_->in : 0; }

/// Whether blocks are to be kept from this product on, and the memory for them exists.
bool Linear::State::keeps() const {
  if (blocks.load(std::memory_order_acquire)) return true;
  // Quantising costs too much to do it twice.
  const bool wanted =
      precision != Precision::f32 || products.fetch_add(1, std::memory_order_relaxed) >= kKeepAfter;
  if (!wanted || refused.load(std::memory_order_relaxed)) return false;
  const size_t bytes = panels * panel_bytes;
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    refused.store(true, std::memory_order_relaxed);
    return false;
  }
  madvise(made, bytes, MADV_HUGEPAGE);
  std::byte* expected = nullptr;
  if (!blocks.compare_exchange_strong(expected, static_cast<std::byte*>(made),
                                      std::memory_order_acq_rel)) {
    munmap(made, bytes);  // another thread was first
  }
  return true;
}

/// One panel in kernel order; `floats` [in * kPanel] is scratch unless the layout is float.
void Linear::State::pack(size_t panel, float* floats, std::byte* to) const {
  const std::byte* rows[kPanel] = {};
  size_t n = panel * kPanel;
  size_t filled = 0;
  for (const WeightRef& weight : weights) {
    for (; n < weight.out && filled < kPanel; ++n, ++filled) {
      rows[filled] = weight.data + n * in * dtype_size(weight.dtype);
    }
    n -= std::min(n, weight.out);
  }
  const KernelTable& table = kernels();
  const int dtype = static_cast<int>(weights.front().dtype);
  if (precision == Precision::f32) {
    table.pack_f32(rows, dtype, in, reinterpret_cast<float*>(to));
    return;
  }
  if (emulate_bf16) {
    float* out_floats = reinterpret_cast<float*>(to);
    table.pack_f32(rows, dtype, in, out_floats);
    for (size_t i = 0; i < in * kPanel; ++i) {
      uint16_t rounded[2];
      table.to_bf16(out_floats + i, 1, rounded);
      table.to_float(static_cast<int>(DType::bf16), reinterpret_cast<const std::byte*>(rounded), 1,
                     out_floats + i);
    }
    return;
  }
  table.pack_f32(rows, dtype, in, floats);
  if (precision == Precision::bf16) table.pack_bf16(floats, in, to);
  if (precision == Precision::int8) table.pack_int8(floats, in, to);
}

/// Panels [first, first + count) in kernel order: kept ones, or packed in scratch.
const std::byte* Linear::State::group(size_t first, size_t count, bool keep, float* scratch) const {
  float* floats = scratch;
  std::byte* local = reinterpret_cast<std::byte*>(scratch + in * kPanel);
  if (keep) {
    std::byte* kept = blocks.load(std::memory_order_acquire) + first * panel_bytes;
    bool complete = true;
    for (size_t p = 0; p < count; ++p) {
      std::atomic<uint8_t>& state = panel_states[first + p];
      uint8_t seen = state.load(std::memory_order_acquire);
      if (seen == kEmpty && state.compare_exchange_strong(seen, kBusy, std::memory_order_acq_rel)) {
        pack(first + p, floats, kept + p * panel_bytes);
        state.store(kKept, std::memory_order_release);
        seen = kKept;
      }
      complete &= seen == kKept;
    }
    if (complete) return kept;
  }
  for (size_t p = 0; p < count; ++p) pack(first + p, floats, local + p * panel_bytes);
  return local;
}

/// Panels [first, last) of the product `task`, which describes all of them.
void Linear::State::run(GemmTask task, size_t first, size_t last, bool keep, float* scratch) const {
  const KernelTable& table = kernels();
  const auto gemm = precision == Precision::int8                    ? table.gemm_int8
                    : precision == Precision::bf16 && !emulate_bf16 ? table.gemm_bf16
                                                                    : table.gemm_f32;
  for (size_t p = first; p < last; p += kGroup) {
    const size_t count = std::min(kGroup, last - p);
    GemmTask part = task;
    part.b = group(p, count, keep, scratch);
    part.panel_stride = panel_bytes;
    part.panels = count;
    part.cols = std::min(count * kPanel, out - p * kPanel);
    part.c = task.c + p * kPanel;
    if (task.bias) part.bias = task.bias + p * kPanel;
    if (task.residual) part.residual = task.residual + p * kPanel;
    gemm(part);
  }
}

void Linear::operator()(ConstMatrix x, Matrix y, Activation act, LinearScratch& scratch,
                        ConstMatrix residual) const {
  const State& s = *state_;
  if (x.rows == 0) return;
  const KernelTable& table = kernels();
  GemmTask task;
  task.a = x.data;
  task.lda = x.stride;
  task.step = kPanel;
  task.rows = x.rows;
  task.k = s.in;
  task.c = y.data;
  task.ldc = y.stride;
  task.bias = s.bias.empty() ? nullptr : s.bias.data();
  task.residual = residual.data;
  task.ldr = residual.stride;
  task.activation = static_cast<int>(act);

  if (s.precision == Precision::int8) {
    const size_t ld = round_up(s.in, 4);
    float* scales = scratch.quantized.reserve(x.rows + (x.rows * ld + 3) / 4);
    int8_t* quantized = reinterpret_cast<int8_t*>(scales + x.rows);
    for (size_t t = 0; t < x.rows; ++t) {
      scales[t] = table.to_int8(x.row(t), s.in, quantized + t * ld);
    }
    task.a = quantized;
    task.lda = ld;
    task.a_scale = scales;
  } else if (s.precision == Precision::bf16) {
    const size_t ld = round_up(s.in, 2);
    float* floats = scratch.quantized.reserve(x.rows * (ld / 2 + s.in) + ld);
    uint16_t* rounded = reinterpret_cast<uint16_t*>(floats + (s.emulate_bf16 ? x.rows * s.in : 0));
    for (size_t t = 0; t < x.rows; ++t) {
      table.to_bf16(x.row(t), s.in, rounded + t * ld);
      if (s.emulate_bf16) {
        table.to_float(static_cast<int>(DType::bf16),
                       reinterpret_cast<const std::byte*>(rounded + t * ld), s.in,
                       floats + t * s.in);
      }
    }
    task.a = s.emulate_bf16 ? static_cast<const void*>(floats) : rounded;
    task.lda = s.emulate_bf16 ? s.in : ld;
  }

  const bool keep = s.keeps();
  const size_t part_floats = s.in * kPanel + kGroup * s.panel_bytes / sizeof(float);
  const size_t parts = scratch.team ? static_cast<size_t>(scratch.team->size()) : 1;
  float* panel = scratch.panel.reserve(parts * part_floats);
  if (parts == 1) return s.run(task, 0, s.panels, keep, panel);
  scratch.team->run([&](int part, int) {
    const size_t first = s.panels * part / parts;
    const size_t last = s.panels * (part + 1) / parts;
    s.run(task, first, last, keep, panel + part * part_floats);
  });
}

}  // namespace bert
