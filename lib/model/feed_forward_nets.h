#pragma once

#include "model/schema.h"

namespace bert {

/// The feed-forward nets that MobileBERT may have before the one that all layers have: from B to I,
/// back, and the norm.
inline constexpr Role kFeedForwardNets[][3] = {
    {Role::first_intermediate, Role::first_output, Role::first_output_norm},
    {Role::second_intermediate, Role::second_output, Role::second_output_norm},
    {Role::third_intermediate, Role::third_output, Role::third_output_norm}};

}  // namespace bert
