#include "base/team.h"

#include <sched.h>

#include <system_error>
#include <vector>

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

/// Moves this thread `part` CPUs on from `maker`, and leaves it free. A thread begins on its
/// maker's CPU, and the kernel may take milliseconds to see that both work, while each waits for
/// the other: the first product of a process took twice as long.
void leave(int maker, int part) {
  cpu_set_t allowed;
  if (maker < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> cpus;  // from the maker's on, around
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    const int cpu = (maker + i) % CPU_SETSIZE;
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus[static_cast<size_t>(part) % cpus.size()], &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace

Team::Team(int threads) {
  members_.reserve(threads > 1 ? static_cast<size_t>(threads - 1) : 0);
  try {
    const int maker = sched_getcpu();
    for (int part = 1; part < threads; ++part) {
      members_.emplace_back([=, this] {
        leave(maker, part);
        serve(part);
      });
    }
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
