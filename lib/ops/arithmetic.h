#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "ops/linear.h"

namespace bert {

/// What decides the bits of a row besides the model and its input, in the words that users see.

/// The kernels of this CPU (isa_name), and after a '+' the OpenBLAS that computes products of
/// floats, where it does: "avx2", "plain+openblas-0.3.21-Haswell".
BERT_API std::string kernel_set();

/// "f32", "bf16" or "int8"
BERT_API std::string_view precision_name(Precision precision);

/// What is multiplied in products of this precision on this machine:
///   f32    floats          bf16x3    floats cut into three bf16, as exactly
///   bf16   both sides      int8      both sides          openblas   floats, by OpenBLAS
/// bf16 that is computed in f32: only the weights are rounded. int8 that is computed in bf16: the
/// weights are of one byte, the inputs of two.
BERT_API std::string_view products_in(Precision precision);

}  // namespace bert
