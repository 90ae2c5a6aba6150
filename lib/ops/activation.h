#pragma once

namespace bert {

/// The values of hidden_act in a Hugging Face config, and the activations of heads.
///   gelu      x Phi(x), with erf       gelu_tanh  the tanh form (gelu_new, gelu_pytorch_tanh)
enum class Activation { none, gelu, gelu_tanh, gelu_quick, relu, silu, tanh, sigmoid };

}  // namespace bert
