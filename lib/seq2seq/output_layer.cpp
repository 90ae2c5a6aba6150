#include "seq2seq/output_layer.h"

#include <utility>

namespace bert {

OutputLayer::OutputLayer(WeightRef weight, std::vector<float> bias, Precision precision)
    : linear_(weight, std::move(bias), precision) {}

void OutputLayer::logits(ConstMatrix hidden, Matrix logits, LinearScratch& scratch) const {
  linear_(hidden, logits, Activation::none, scratch);
}

}  // namespace bert
