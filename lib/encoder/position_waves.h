#pragma once

#include <cstddef>
#include <vector>

namespace bert {

/// Positions as sines and cosines (Vaswani et al. 2017, 3.5), in Marian's order: row p of [P, H]
/// begins with sin(p / 10000^(2 i / H)) of all i, and their cosines follow.
std::vector<float> position_waves(size_t positions, size_t width);

/// The same as in tensor2tensor and M2M100: sin(p / 10000^(i / (H / 2 - 1))), and a last column of
/// zeros where H is odd. As in the reference, angles are floats.
std::vector<float> steep_waves(size_t positions, size_t width);

}  // namespace bert
