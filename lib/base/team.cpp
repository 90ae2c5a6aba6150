#include "base/team.h"

#include <chrono>
#include <system_error>

#include "base/platform.h"

namespace bert {
namespace {

/// Rounds that a member came too late for, after which it spins no more.
constexpr int kMostLate = 3;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins up to about 0.1 ms until `value` differs from `old`, and returns whether it does. It does
/// not yield the CPU: Linux puts a thread that yields behind all others for a whole time slice, so
/// that a computation beside another process took a hundred times as long.
template <typename T>
bool changes_soon(const std::atomic<T>& value, T old) {
  constexpr int kSpins = 1000;
  constexpr auto kMoment = std::chrono::microseconds(100);
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  for (int i = 0; i < kSpins; ++i, relax()) {
    if (changed()) return true;
  }
  const auto end = std::chrono::steady_clock::now() + kMoment;
  for (; std::chrono::steady_clock::now() < end; relax()) {
    if (changed()) return true;
  }
  return changed();
}

}  // namespace

Team::Team(int threads) {
  const size_t others = threads > 1 ? static_cast<size_t>(threads - 1) : 0;
  members_.reserve(others);
  begun_ = std::make_unique<Begun[]>(others + 1);
  try {
    for (int part = 1; part < threads; ++part) members_.emplace_back([this, part] { serve(part); });
  } catch (const std::system_error&) {
  }
  platform::part_from_here(members_);
  parts_ = size();
}

Team::~Team() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& member : members_) member.join();
}

bool Team::begin(int part, unsigned round) {
  unsigned before = round - 1;
  return begun_[static_cast<size_t>(part)].round.compare_exchange_strong(
      before, round, std::memory_order_acq_rel, std::memory_order_relaxed);
}

void Team::run_all(Call call, void* function) {
  if (members_.empty()) return call(function, 0, 1);
  call_ = call;
  function_ = function;
  busy_.store(parts_ - 1, std::memory_order_relaxed);
  const unsigned round = round_.fetch_add(1, std::memory_order_release) + 1;
  round_.notify_all();
  if (asleep_.load(std::memory_order_relaxed) != 0) platform::part_from_here(members_);
  call(function, 0, parts_);
  for (int part = 1; part < parts_ && busy_.load(std::memory_order_acquire) != 0; ++part) {
    if (!begin(part, round)) continue;
    call(function, part, parts_);
    busy_.fetch_sub(1, std::memory_order_acq_rel);
  }
  for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) {
    if (!changes_soon(busy_, left)) busy_.wait(left, std::memory_order_acquire);
  }
}

void Team::serve(int part) {
  int late = 0;
  for (unsigned seen = 0;;) {
    if (late > kMostLate || !changes_soon(round_, seen)) {
      asleep_.fetch_add(1, std::memory_order_relaxed);
      round_.wait(seen, std::memory_order_acquire);
      asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
    seen = round_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!begin(part, seen)) {
      ++late;
      continue;
    }
    late = 0;
    call_(function_, part, parts_);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace bert
