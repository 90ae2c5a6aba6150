#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace bert::training {

/// The order in which the passes of a step add to their common gradient: each tensor gets the sums
/// of pass 0, then those of pass 1, and so on. So the gradient has the same bits for any number of
/// threads, and the threads need only one.
///
/// A pass goes through stages with falling numbers, as its way back goes from the head down to the
/// embeddings. Each tensor belongs to one stage. A pass enters a stage when the pass before has
/// left it, so passes run side by side, one stage apart.
///
/// Thread rule: all calls may come from any thread. Passes are begun in their order: then the
/// lowest one never waits.
class PassOrder {
 public:
  /// What reach() throws when another pass has failed.
  struct Failed {};

  void begin(size_t passes);
  /// Leaves all stages above `stage`, and waits until the pass before has left `stage`.
  void reach(size_t pass, int32_t stage);
  /// Leaves all stages.
  void end(size_t pass) { leave(pass, -1); }
  /// Ends the waiting of all passes.
  void fail();

 private:
  void leave(size_t pass, int32_t stage);

  bool may_enter(size_t pass, int32_t stage);
  void tell();

  std::mutex mutex_;
  std::atomic<unsigned> moves_{0};  ///< changes whenever a pass has moved
  std::vector<int32_t> stages_;     ///< where each pass is
  bool failed_ = false;
};

/// The place of one pass in the order.
struct Turn {
  PassOrder* order = nullptr;  ///< nullptr: it need not wait
  size_t pass = 0;

  /// To be called before the pass adds to tensors of this stage: see the functions below.
  void reach(int32_t stage) const {
    if (order) order->reach(pass, stage);
  }
};

/// The stages: of all heads, of the feed-forward net and the attention of layer 0 .. L - 1, and of
/// the embeddings, and all that the layers share.
inline constexpr int32_t kHeadStage = INT32_MAX - 1;
inline constexpr int32_t net_stage(size_t layer) { return 2 * static_cast<int32_t>(layer) + 2; }
inline constexpr int32_t attention_stage(size_t layer) { return net_stage(layer) - 1; }
inline constexpr int32_t kEmbeddingStage = 0;

}  // namespace bert::training
