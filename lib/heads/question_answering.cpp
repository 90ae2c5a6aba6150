#include "heads/question_answering.h"

#include <algorithm>
#include <tuple>

#include "directory/readers.h"

namespace bert {

QuestionAnswering QuestionAnswering::open(const Model& model) {
  const Weights& weights = model.weights();
  require_head(model.directory(), model.config(), weights, HeadKind::spans);
  QuestionAnswering qa;
  qa.transform_ = HeadTransform::load(model.config(), weights);
  qa.output_ = weights.linear(model.config(), Role::qa_outputs, Precision::f32);
  return qa;
}

Matrix QuestionAnswering::logits(ConstMatrix hidden, Workspace& workspace) const {
  const Matrix logits = workspace.logits.matrix(hidden.rows, 2);  // [T, 2]
  output_(transform_(hidden, workspace.rows, workspace.linear), logits, Activation::none,
          workspace.linear);
  return logits;
}

std::vector<Span> best_spans(std::span<const float> start_logits, std::span<const float> end_logits,
                             std::span<const uint8_t> allowed, size_t n_best_size,
                             size_t max_answer_length) {
  const auto better = [](const Span& a, const Span& b) {
    return std::tuple(-a.score, a.start, a.end) < std::tuple(-b.score, b.start, b.end);
  };
  std::vector<Span> heap;  // the worst of the kept spans on top
  for (size_t start = 0; start < start_logits.size(); ++start) {
    if (!allowed[start]) continue;
    const size_t last = std::min(start_logits.size(), start + max_answer_length);
    for (size_t end = start; end < last; ++end) {
      if (!allowed[end]) continue;
      const Span span{start, end, start_logits[start] + end_logits[end]};
      if (heap.size() == n_best_size && !better(span, heap.front())) continue;
      if (heap.size() == n_best_size) {
        std::pop_heap(heap.begin(), heap.end(), better);
        heap.pop_back();
      }
      heap.push_back(span);
      std::push_heap(heap.begin(), heap.end(), better);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), better);
  return heap;
}

}  // namespace bert
