#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ops/matrix.h"

namespace bert {

/// What a forward pass can show of itself.
///
///   T tokens of the batch, n tokens of one sequence, H hidden size, D = H / A, I intermediate size
///
/// The inputs of a layer's products are among them: query, key and value read `attention_input`,
/// attention's output reads `context` of all heads, the feed-forward net reads `feed_forward_input`
/// and then `intermediate`. Where norms stand after, the first is `hidden` of the layer below and
/// the third `attended`.
enum class Traced : uint32_t {
  hidden = 1 << 0,           ///< [T, H] the output of a layer; layer 0: the embeddings
  query = 1 << 1,            ///< [n, D] of one head of one sequence
  key = 1 << 2,              ///< [n, D]
  value = 1 << 3,            ///< [n, D]
  scores = 1 << 4,           ///< [n, n] query key^T / sqrt(D)
  probabilities = 1 << 5,    ///< [n, n] softmax(scores); in float, whatever the model's precision
  context = 1 << 6,          ///< [n, D] probabilities value
  attended = 1 << 7,         ///< [T, H] after attention, its residual and a norm that follows it
  intermediate = 1 << 8,     ///< [B, I] after the activation: B rows of the batch from `first_row`
  attention_input = 1 << 9,  ///< [T, H] what query, key and value are computed from
  feed_forward_input = 1 << 10,  ///< [B, H] what the feed-forward net reads, from `first_row`
};

/// A set of them: Traced::query | Traced::key.
class TraceMask {
 public:
  constexpr TraceMask() = default;
  constexpr TraceMask(Traced one) : bits_(static_cast<uint32_t>(one)) {}
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool any_of(TraceMask other) const { return (bits_ & other.bits_) != 0; }
  friend constexpr TraceMask operator|(TraceMask a, TraceMask b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  uint32_t bits_ = 0;
};
constexpr TraceMask operator|(Traced a, Traced b) { return TraceMask(a) | TraceMask(b); }

/// A view of the model's own memory, valid until Trace::show returns.
struct TraceView {
  Traced what;
  size_t layer;          ///< 0: the embeddings, 1 .. L
  ConstMatrix values;    ///< rows may lie apart (values.stride)
  size_t sequence = 0;   ///< number in the batch, where `what` is of one head
  size_t head = 0;       ///< 0 .. A - 1
  size_t first_row = 0;  ///< first row of `intermediate` here: it comes in blocks of rows
};

/// A request to see parts of a forward pass. What is not asked for is neither computed nor kept,
/// and the result of the pass has the same bits with a trace as without.
struct Trace {
  TraceMask request = {};
  std::vector<size_t> layers = {};  ///< only these, 0 .. L; empty: all
  std::vector<size_t> heads = {};   ///< only these, 0 .. A - 1; empty: all
  /// Called in the thread that runs the pass; layer by layer, within one sequence by sequence and
  /// head by head.
  std::function<void(const TraceView&)> show = {};
};

/// The part of a trace that is of one layer.
class LayerTrace {
 public:
  LayerTrace() = default;  ///< asks for nothing
  /// `trace` may be nullptr.
  LayerTrace(const Trace* trace, size_t layer);

  bool wants(TraceMask any) const { return trace_ && trace_->request.any_of(any); }
  bool wants_head(size_t head) const;
  /// Shows `view`, whose layer is set here, if it is wanted.
  void show(TraceView view) const;
  void show(Traced what, ConstMatrix values) const { show({what, layer_, values}); }

 private:
  const Trace* trace_ = nullptr;  ///< nullptr: nothing of this layer is wanted
  size_t layer_ = 0;
};

}  // namespace bert
