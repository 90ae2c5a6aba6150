#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "encoder/model.h"
#include "encoder/packed_batch.h"
#include "encoder/workspace.h"
#include "predict/task.h"
#include "tokenizer/encoding.h"

namespace bert {

/// The loop of everything that runs a model: pack sequences end to end into batches of at most
/// `max_tokens` tokens, in their order, run the model, use what it gives. It has the memory of one
/// thread for that.
class Batcher {
 public:
  explicit Batcher(size_t max_tokens = kBatchTokens) : max_tokens_(max_tokens) {}
  void use_team(Team* team) { workspace_.linear.team = team; }
  Workspace& workspace() { return workspace_; }

  /// Runs the model on all sequences, and calls
  ///   use(first, batch, hidden)   first: index of the batch's first sequence; hidden [T, H]
  template <typename Use>
  void run(const Model& model, std::span<const Encoding> sequences, Use use,
           const ForwardOptions& options = {}) {
    pack(sequences, [&](size_t first, const PackedBatch& batch) {
      use(first, batch, model.forward(batch, workspace_, options));
    });
  }
  /// Calls use(first, batch) for each batch.
  template <typename Use>
  void pack(std::span<const Encoding> sequences, Use use) {
    start();
    for (const Encoding& one : sequences) add(one.input_ids, one.token_type_ids, use);
    finish(use);
  }

  // The same for sequences that come one by one: start(), add() .., finish(). `use` gets a batch
  // before a sequence comes for which it has no room.
  void start() {
    batch_.clear();
    first_ = 0;
  }
  template <typename Use>
  void add(std::span<const int32_t> ids, std::span<const int32_t> types, Use&& use) {
    if (!batch_.empty() && batch_.tokens() + ids.size() > max_tokens_) finish(use);
    batch_.append(ids, types);
  }
  template <typename Use>
  void finish(Use&& use) {
    if (batch_.empty()) return;
    use(first_, batch_);
    first_ += batch_.sequences();
    batch_.clear();
  }
  /// The tokens of the batch that waits.
  size_t waiting() const { return batch_.tokens(); }

 private:
  size_t max_tokens_;
  size_t first_ = 0;  ///< index of the first sequence of batch_
  PackedBatch batch_;
  Workspace workspace_;
};

}  // namespace bert
