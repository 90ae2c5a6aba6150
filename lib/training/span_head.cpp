#include "training/span_head.h"

#include "nn/loss.h"

namespace bert::training {

Tally SpanHead::count(const TrainingBatch& batch) const {
  Tally tally;
  for (const int32_t start : batch.starts) tally.sequences += start != nn::kIgnored;
  tally.labelled = tally.sequences;
  return tally;
}

void SpanHead::add_losses(const HeadPass& pass, Tally& tally) {
  const PackedBatch& batch = pass.batch.batch;
  const bool drops = !plan_.config.family->answers_dropout_key.empty();
  const nn::Dropout drop =
      pass.dropout.at(drops ? pass.dropout.classifier : 0, 0, kHeadSite, pass.dropout.token_0);
  const nn::NormPlan norm = norm_plan(plan_.config);
  const ConstMatrix read =
      transform_.forward(transform_of(weights_), plan_.config.head_act, norm, pass.hidden);
  const Matrix x = input_.matrix(read.rows, read.cols);  // [T, H]
  copy(read, x);
  nn::dropout(drop, x);
  const Matrix logits = logits_.matrix(x.rows, 2);  // [T, 2]
  nn::linear_forward(weights_.spans, x, logits);
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const size_t begin = batch.begin(s), n = batch.length(s);
    size_t right = 0;
    for (const bool is_end : {false, true}) {
      const Matrix column = column_.matrix(1, n);  // the sequence's start or end logits
      for (size_t t = 0; t < n; ++t) column.data[t] = logits.row(begin + t)[is_end];
      const int32_t label = is_end ? pass.batch.ends[s] : pass.batch.starts[s];
      ConstMatrix teacher;
      if (!pass.batch.teacher.empty()) {
        const Matrix taught = taught_column_.matrix(1, n);
        const float* from = pass.batch.teacher.data() + 2 * begin;
        for (size_t t = 0; t < n; ++t) taught.data[t] = from[2 * t + is_end];
        teacher = taught;
      }
      tally.sequence_loss += 0.5 * class_loss(column, {&label, 1}, teacher,
                                              0.5f * pass.scale.sequence, pass.gradient, right);
      for (size_t t = 0; t < n; ++t) logits.row(begin + t)[is_end] = column.data[t];
    }
    tally.sequences_right += right == 2;
  }
  if (!pass.gradient) return;
  const Matrix d_read = d_read_.matrix(x.rows, x.cols);
  nn::linear_backward(weights_.spans, x, logits, pass.gradient->spans, d_read);
  nn::dropout(drop, d_read);
  transform_.backward(transform_of(weights_), plan_.config.head_act, norm, d_read,
                      transform_of(*pass.gradient), pass.d_hidden);
}

}  // namespace bert::training
