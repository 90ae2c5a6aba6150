#include "base/team.h"

#include <system_error>

namespace bert {
namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// About 20 microseconds: longer than the gap between two products, shorter than a time slice.
constexpr int kSpins = 1000;

/// Waits until `value` differs from `old`.
template <typename T>
void wait_change(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Team::Team(int threads) {
  members_.reserve(threads > 1 ? static_cast<size_t>(threads - 1) : 0);
  try {
    for (int part = 1; part < threads; ++part) members_.emplace_back([this, part] { serve(part); });
  } catch (const std::system_error&) {
  }
  parts_ = size();
}

Team::~Team() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& member : members_) member.join();
}

void Team::run_all(Call call, void* function) {
  if (members_.empty()) return call(function, 0, 1);
  call_ = call;
  function_ = function;
  busy_.store(parts_ - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  call(function, 0, parts_);
  for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;) wait_change(busy_, left);
}

void Team::serve(int part) {
  for (unsigned seen = 0;;) {
    wait_change(round_, seen);
    // The owner waits for all members, so at most one round has begun.
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    call_(function_, part, parts_);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace bert
