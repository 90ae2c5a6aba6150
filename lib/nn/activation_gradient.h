#pragma once

#include "ops/linear.h"
#include "ops/matrix.h"

namespace bert::nn {

/// y = act(x).   x, y [T, N]   The backward pass needs x again.
void activation_forward(Activation act, ConstMatrix x, Matrix y);

/// dy becomes dx = dy act'(x), in place. gelu is the erf form, gelu_tanh the tanh form; relu has
/// slope 0 at 0, as in PyTorch.
void activation_backward(Activation act, ConstMatrix x, Matrix dy);

}  // namespace bert::nn
