#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/export.h"

namespace bert {

/// A few threads that share one computation: the caller is part 0, the members wait for the next
/// computation. A member that waits spins for a tenth of a millisecond and then sleeps in the
/// kernel, so an idle team costs nothing. The caller also computes the parts that their members
/// have not begun when it is ready, so that it never waits for a member that gets no CPU.
///
/// Thread rule: one owner calls run(); the function must not throw and must not call run() again.
class BERT_API Team {
 public:
  /// If a thread cannot be started, the team is smaller.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(members_.size()) + 1; }

  /// Calls fn(part, parts) for each part of [0, size()), and returns when all calls have returned.
  /// Some calls are made at the same time, others one after the other: a part must not wait for
  /// another.
  template <typename Function>
  void run(Function&& fn) {
    using Callee = std::remove_reference_t<Function>;
    run_all([](void* f, int part, int parts) { (*static_cast<Callee*>(f))(part, parts); },
            const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Call = void (*)(void*, int, int);
  void run_all(Call call, void* function);
  void serve(int part);
  /// Whether the calling thread is the one that computes the part in this round.
  bool begin(int part, unsigned round);

  struct alignas(64) Begun {
    std::atomic<unsigned> round{0};  ///< the last round in which a thread took this part
  };

  Call call_ = nullptr;
  void* function_ = nullptr;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<unsigned> round_{0};  ///< counts the computations begun
  alignas(64) std::atomic<int> busy_{0};        ///< members still in the computation
  std::atomic<int> asleep_{0};                  ///< members that wait in the kernel
  std::unique_ptr<Begun[]> begun_;              ///< [parts]
  std::vector<std::thread> members_;
  int parts_ = 1;
};

}  // namespace bert
