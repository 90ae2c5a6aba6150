#include "training/pass_order.h"

namespace bert::training {

void PassOrder::begin(size_t passes) {
  stages_.assign(passes, INT32_MAX);
  failed_ = false;
}

void PassOrder::tell() {
  ++moves_;
  moves_.notify_all();
}

void PassOrder::leave(size_t pass, int32_t stage) {
  {
    const std::lock_guard lock(mutex_);
    stages_[pass] = stage;
  }
  tell();
}

bool PassOrder::may_enter(size_t pass, int32_t stage) {
  const std::lock_guard lock(mutex_);
  if (failed_) throw Failed();
  return pass == 0 || stages_[pass - 1] < stage;
}

void PassOrder::reach(size_t pass, int32_t stage) {
  leave(pass, stage);
  for (unsigned seen = moves_; !may_enter(pass, stage); seen = moves_) moves_.wait(seen);
}

void PassOrder::fail() {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  tell();
}

}  // namespace bert::training
