#include "seq2seq/attention_collector.h"

#include <algorithm>

namespace bert {

AttentionCollector::AttentionCollector(const PackedBatch& sources, const PackedBatch& targets,
                                       const AttentionTrace& trace, size_t head_size)
    : sources_(sources), targets_(targets), trace_(trace), head_size_(head_size), begins_{0} {
  for (size_t s = 0; s < targets.sequences(); ++s) {
    begins_.push_back(begins_.back() + targets.length(s) * sources.length(s));
    sequence_.insert(sequence_.end(), targets.length(s), s);
  }
}

void AttentionCollector::note(size_t layer, size_t row, ConstMatrix scores, ConstMatrix weights,
                              ConstMatrix context) {
  const size_t s = sequence_[row], m = sources_.length(s);
  const size_t begin = begins_[s] + (row - targets_.begin(s)) * m;
  for (size_t head = 0; head < weights.rows; ++head) {
    if (!trace_.wants(layer, head)) continue;
    auto found = std::find_if(heads_.begin(), heads_.end(),
                              [&](const Head& h) { return h.layer == layer && h.head == head; });
    if (found == heads_.end()) {
      Head made{layer, head, std::vector<float>(begins_.back()), std::vector<float>(begins_.back()),
                std::vector<float>(targets_.tokens() * head_size_)};
      found = heads_.insert(heads_.end(), std::move(made));
    }
    std::copy_n(scores.row(head), m, found->scores.data() + begin);
    std::copy_n(weights.row(head), m, found->weights.data() + begin);
    std::copy_n(context.row(head), head_size_, found->context.data() + row * head_size_);
  }
}

void AttentionCollector::show() const {
  for (size_t s = 0; s < targets_.sequences(); ++s) {
    const size_t n = targets_.length(s), m = sources_.length(s);
    for (const Head& head : heads_) {
      AttentionView view;
      view.sequence = s;
      view.layer = head.layer;
      view.head = head.head;
      view.scores = {head.scores.data() + begins_[s], n, m};
      view.weights = {head.weights.data() + begins_[s], n, m};
      view.context = {head.context.data() + targets_.begin(s) * head_size_, n, head_size_};
      trace_.show(view);
    }
  }
}

}  // namespace bert
