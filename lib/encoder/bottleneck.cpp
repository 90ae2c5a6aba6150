#include "encoder/bottleneck.h"

#include "model/feed_forward_nets.h"

namespace bert {

Bottleneck Bottleneck::load(const Config& config, const Weights& weights, size_t layer,
                            Precision precision) {
  Bottleneck b;
  if (!has_module(config, Role::bottleneck)) return b;
  const auto linear = [&](Role role) { return weights.linear(config, role, precision, layer); };
  const auto norm = [&](Role role) { return Norm::load(config, weights, role, layer); };
  b.entry_ = linear(Role::bottleneck);
  b.entry_norm_ = norm(Role::bottleneck_norm);
  b.shared_ = linear(Role::shared_bottleneck);
  b.shared_norm_ = norm(Role::shared_bottleneck_norm);
  for (const auto& [intermediate, output, output_norm] : kFeedForwardNets) {
    if (!has_module(config, intermediate)) break;
    b.nets_.push_back({linear(intermediate), linear(output), norm(output_norm)});
  }
  b.exit_ = linear(Role::bottleneck_exit);
  b.exit_norm_ = norm(Role::bottleneck_exit_norm);
  return b;
}

Matrix Bottleneck::enter(ConstMatrix hidden, Workspace& workspace) const {
  const Matrix narrow = workspace.narrow.matrix(hidden.rows, entry_.out_features());  // [T, B]
  entry_(hidden, narrow, Activation::none, workspace.linear);
  entry_norm_(narrow, narrow);
  return narrow;
}

void Bottleneck::share(ConstMatrix hidden, Matrix out, Workspace& workspace) const {
  shared_(hidden, out, Activation::none, workspace.linear);
  shared_norm_(out, out);
}

void Bottleneck::nets(Matrix x, Activation act, Workspace& workspace) const {
  for (const Net& net : nets_) {
    const Matrix intermediate =
        workspace.intermediate.matrix(x.rows, net.intermediate.out_features());  // [T, I]
    net.intermediate(x, intermediate, act, workspace.linear);
    net.output(intermediate, x, Activation::none, workspace.linear, x);
    net.norm(x, x);
  }
}

void Bottleneck::leave(ConstMatrix narrow, Matrix hidden, Workspace& workspace) const {
  exit_(narrow, hidden, Activation::none, workspace.linear, hidden);
  exit_norm_(hidden, hidden);
}

}  // namespace bert
