#pragma once

#include <string>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/model_directory.h"

namespace bert {

/// The factors by which int8 multiplies the inputs of attention and of the feed-forward net before
/// it rounds them; the weights are divided by the same factors. A factor is 1 / sqrt(largest |x|)
/// of its channel, as in SmoothQuant (Xiao et al. 2023). A few channels of BERT's layer norms are
/// much larger than the rest. Without factors, one such channel would decide the rounding step of
/// all 64 values of its group.
///
/// To measure them, the model in `directory` reads 32 tokens, spread evenly over its vocabulary, in
/// f32. (16 tokens, or real text, gave the same quality.) The factors belong to the part that all
/// heads share. Where that part cannot run without tensors of `head`, the model of `head` is read.
/// The result is for Weights::use_input_factors. Throws Error as Model::open does.
BERT_API InputFactors input_factors(const ModelDirectory& directory, const std::string& head);

}  // namespace bert
