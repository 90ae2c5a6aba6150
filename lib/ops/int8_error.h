#pragma once

#include <span>

#include "ops/matrix.h"

namespace bert {

/// How far inputs x [K] may move, in the Euclidean norm, when a Linear of int8 without factors
/// rounds them. NaN if x has elements that are no finite numbers. `scratch` grows.
double int8_input_error(std::span<const float> x, Buffer& scratch);
/// Whether this CPU multiplies int8 faster than floats, and as int8_input_error says.
bool has_fast_int8();

}  // namespace bert
