#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "ops/linear.h"

namespace bert {

/// Names, for users, of the arithmetic that decides the bits of a row besides the model and its
/// input.

/// The kernels of this CPU (isa_name). If OpenBLAS computes the products of floats, it follows
/// after a '+': "avx2", "plain+openblas-0.3.21-Haswell".
BERT_API std::string kernel_set();

/// "f32", "bf16" or "int8"
BERT_API std::string_view precision_name(Precision precision);

/// The number type in which this machine multiplies for this precision:
///   f32    floats          bf16x3    floats split into three bf16, as exact as f32
///   bf16   both sides      int8      both sides          openblas   floats, by OpenBLAS
/// With bf16 computed in f32, only the weights are rounded. With int8 computed in bf16, the weights
/// have one byte and the inputs two.
BERT_API std::string_view products_in(Precision precision);

}  // namespace bert
