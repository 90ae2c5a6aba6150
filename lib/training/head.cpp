#include "training/head.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "nn/loss.h"
#include "training/masked_lm_head.h"
#include "training/span_head.h"
#include "training/text_head.h"
#include "training/token_head.h"
#include "training/vector_head.h"

namespace bert::training {
namespace {

template <typename T>
std::unique_ptr<Head> make_head(const HeadPlan& plan, const ModelWeights& weights, bool bf16) {
  return std::make_unique<T>(plan, weights, bf16);
}

struct Row {
  Objective objective;
  std::unique_ptr<Head> (*make)(const HeadPlan&, const ModelWeights&, bool bf16);
};

constexpr Row kHeads[] = {
    {Objective::pretrain, make_head<MaskedLmHead>}, {Objective::masked_lm, make_head<MaskedLmHead>},
    {Objective::classify, make_head<TextHead>},     {Objective::tokens, make_head<TokenHead>},
    {Objective::spans, make_head<SpanHead>},        {Objective::vectors, make_head<VectorHead>},
};

}  // namespace

std::unique_ptr<Head> Head::make(const HeadPlan& plan, const ModelWeights& weights, bool bf16) {
  const auto* row = std::find_if(std::begin(kHeads), std::end(kHeads),
                                 [&](const Row& r) { return r.objective == plan.objective; });
  assert(row != std::end(kHeads));  // the tools train no other
  return row->make(plan, weights, bf16);
}

Tally Head::count(const TrainingBatch& batch) const {
  Tally tally;
  const auto weigh = [&](const std::vector<int32_t>& labels) {
    double sum = 0;
    for (const int32_t label : labels) {
      if (label == nn::kIgnored) continue;
      ++tally.labelled;
      const bool weighted = !plan_.class_weights.empty() && plan_.objective != Objective::pretrain;
      sum += weighted ? static_cast<double>(plan_.class_weights[static_cast<size_t>(label)]) : 1.;
    }
    return sum;
  };
  tally.tokens = weigh(batch.token_labels);
  tally.sequences = weigh(batch.sequence_labels);
  return tally;
}

double Head::class_loss(Matrix logits, std::span<const int32_t> labels, ConstMatrix teacher,
                        float scale, bool learns, size_t& right) {
  const float smoothing = learns ? plan_.label_smoothing : 0;
  const float share = teacher.data ? plan_.teacher_share : 0;
  if (share == 0) {
    return nn::cross_entropy(logits, labels, plan_.class_weights, scale, &right, smoothing);
  }
  const Matrix taught = taught_.matrix(logits.rows, logits.cols);
  copy(logits, taught);
  const double own = nn::cross_entropy(logits, labels, plan_.class_weights, scale * (1 - share),
                                       &right, smoothing);
  const double other = nn::distillation(taught, teacher, labels, plan_.temperature, scale * share);
  for (size_t r = 0; r < logits.rows; ++r) {
    for (size_t c = 0; c < logits.cols; ++c) logits.row(r)[c] += taught.row(r)[c];
  }
  return (1 - share) * own + share * other;
}

Tally Head::learn(const HeadPass& pass) {
  Tally tally = count(pass.batch);
  tally.input_tokens = pass.batch.tokens();
  if (pass.gradient) {
    for (size_t t = 0; t < pass.d_hidden.rows; ++t) {
      std::fill_n(pass.d_hidden.row(t), pass.d_hidden.cols, 0.f);
    }
  }
  add_losses(pass, tally);
  return tally;
}

}  // namespace bert::training
