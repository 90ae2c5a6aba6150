#pragma once

#include <vector>

#include "checkpoint/weights.h"
#include "encoder/norm.h"
#include "encoder/workspace.h"
#include "model/config.h"
#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert {

/// What a layer of MobileBERT has around and between its parts (Sun et al. 2020, figure 1): it
/// computes in B numbers of the H that a hidden state has, and has several feed-forward nets.
///
///   T tokens, H hidden size, B bottleneck size, I intermediate size
///
/// Thread rule: const after load; one workspace per thread.
class Bottleneck {
 public:
  /// Of a stored layer. Throws Error(data) naming a tensor of it.
  static Bottleneck load(const Config& config, const Weights& weights, size_t layer,
                         Precision precision);
  explicit operator bool() const { return static_cast<bool>(entry_); }

  /// hidden [T, H] -> what attention and the nets are added to, [T, B].
  Matrix enter(ConstMatrix hidden, Workspace& workspace) const;
  /// hidden [T, H] -> what queries and keys are made of, out [T, B].
  void share(ConstMatrix hidden, Matrix out, Workspace& workspace) const;
  /// The nets before the one that all layers have: x [T, B] in place.
  void nets(Matrix x, Activation act, Workspace& workspace) const;
  /// hidden [T, H] += what narrow [T, B] says, normed.
  void leave(ConstMatrix narrow, Matrix hidden, Workspace& workspace) const;

 private:
  struct Net {
    Linear intermediate, output;  ///< [I, B], [B, I]
    Norm norm;
  };
  Linear entry_, shared_;  ///< [B, H]
  Norm entry_norm_, shared_norm_;
  std::vector<Net> nets_;
  Linear exit_;  ///< [H, B]
  Norm exit_norm_;
};

}  // namespace bert
