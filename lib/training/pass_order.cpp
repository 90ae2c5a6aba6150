#include "training/pass_order.h"

namespace bert::training {

void PassOrder::begin(size_t passes) {
  stages_.assign(passes, INT32_MAX);
  failed_ = false;
}

void PassOrder::leave(size_t pass, int32_t stage) {
  const std::lock_guard lock(mutex_);
  stages_[pass] = stage;
  moved_.notify_all();
}

void PassOrder::reach(size_t pass, int32_t stage) {
  leave(pass, stage);
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return failed_ || pass == 0 || stages_[pass - 1] < stage; });
  if (failed_) throw Failed();
}

void PassOrder::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  moved_.notify_all();
}

}  // namespace bert::training
