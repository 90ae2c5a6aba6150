#pragma once

#include <string>

#include "base/export.h"
#include "checkpoint/weights.h"

namespace bert {

/// What the inputs of a layer's attention and feed-forward net are multiplied by before int8 rounds
/// them, their weights being divided by it: 1 / sqrt(the largest |x| of that input), as in
/// SmoothQuant (Xiao et al. 2023). BERT's layer norms have a few channels much larger than the
/// rest, which else decide the steps of all 64 values of their group.
///
/// The model in `directory`, computed with in f32, reads 32 tokens spread evenly over its
/// vocabulary: 16 did as well, and so did text. It is what all heads share, or, where that cannot
/// run without what is `head`'s own, that head's model. For Weights::use_input_factors. Throws
/// Error as Model::open does.
BERT_API InputFactors input_factors(const std::string& directory, const std::string& head);

}  // namespace bert
