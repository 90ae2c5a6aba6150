#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "heads/transform.h"

namespace bert {

/// A span head (Devlin et al. 2019, figure 4 c): each token has two logits, for the begin and for
/// the end of the answer. Thread rule: const after open(); one workspace per thread.
class BERT_API QuestionAnswering {
 public:
  /// Borrows `model`. Throws Error(data) that names the missing head.
  static QuestionAnswering open(const Model& model);

  /// The logits [T, 2]: column 0 for the start, column 1 for the end; in the workspace until the
  /// next call.
  Matrix logits(ConstMatrix hidden, Workspace& workspace) const;

 private:
  HeadTransform transform_;
  Linear output_;  ///< [2, H]
};

/// Tokens [start, end] (inclusive); the score is start logit + end logit.
struct Span {
  size_t start = 0;
  size_t end = 0;
  float score = 0;
};

/// The `n_best_size` best spans, best first. Both ends are allowed tokens (allowed[i] != 0), end >=
/// start, and a span has at most `max_answer_length` tokens. Among equal scores, the earlier start
/// comes first, then the shorter span.
///   start_logits, end_logits, allowed [n]
std::vector<Span> best_spans(std::span<const float> start_logits, std::span<const float> end_logits,
                             std::span<const uint8_t> allowed, size_t n_best_size,
                             size_t max_answer_length);

}  // namespace bert
