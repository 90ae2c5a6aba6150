#pragma once

#include <cstddef>
#include <vector>

namespace bert {

/// Positions as sines and cosines (Vaswani et al. 2017, 3.5), in Marian's order: row p of [P, H]
/// begins with sin(p / 10000^(2 i / H)) of all i, and their cosines follow.
std::vector<float> position_waves(size_t positions, size_t width);

}  // namespace bert
