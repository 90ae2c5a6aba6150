#include <algorithm>
#include <cmath>

#include "api/handles.h"
#include "mlm/mlm.h"
#include "ops/kernels.h"

using namespace bert;
using namespace bert::api;

namespace {

/// The masks of the sequences, each with the k best tokens, in batch.fillings.
void fill_masks(bert_batch& batch, size_t k) {
  const Tokenizer& tokenizer = batch.model.tokenizer.tokenizer;
  const Fillable fillable = fillable_tokens(tokenizer);
  std::vector<bert_filling> masks;
  std::vector<ScoredId> best;
  std::vector<WantedRow> wanted;
  MaskQueries queries(batch.model.model(), *batch.model.masked_lm, kMaxBatchTokens);
  queries.use_team(batch.team.get());
  queries.start([&](size_t mask, std::span<const float> logits) {
    const double normalizer = log_sum_exp(logits);
    top_ids(logits, k, fillable, best);
    for (const ScoredId& one : best) {
      batch.fillings.push_back(masks[mask]);
      batch.fillings.back().id = one.id;
      batch.fillings.back().probability = std::exp(one.logprob - normalizer);
    }
  });
  for (size_t s = 0; s < batch.count; ++s) {
    const std::vector<int32_t>& ids = batch.encoding(s).input_ids;
    wanted.clear();
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] != tokenizer.mask_id()) continue;
      wanted.push_back({t, masks.size()});
      masks.push_back({s, t, 0, 0});
    }
    if (!wanted.empty()) queries.ask(ids, wanted);
  }
  queries.finish();
}

/// Probabilities [S, labels] of the classifier, in batch.result.
Matrix classify(bert_batch& batch) {
  const Classifier& head = *batch.model.classifier;
  const Matrix scores = batch.result.matrix(batch.count, head.labels().size());
  for_each_pack(batch, [&](size_t first, const PackedBatch& packed, Matrix hidden) {
    const Matrix logits = head.logits(packed, hidden, batch.workspace);  // [S, labels]
    head.normalize(logits);
    std::copy_n(logits.data, logits.rows * logits.cols, scores.row(first));
  });
  return scores;
}

/// Probabilities [T, labels], in batch.result.
Matrix label_tokens(bert_batch& batch) {
  const TokenClassifier& head = *batch.model.token_classifier;
  TokenScorer scorer(head);
  const Matrix scores = batch.result.matrix(batch.tokens(), head.labels().size());
  for_each_pack(
      batch,
      [&](size_t first, const PackedBatch& packed, Matrix hidden) {
        const Matrix logits = scorer.logits(packed, hidden, batch.workspace);  // [T, labels]
        for (size_t t = 0; t < logits.rows; ++t) {
          const std::span<float> row(scores.row(batch.begins[first] + t), scores.cols);
          std::copy_n(logits.row(t), logits.cols, row.data());
          softmax(row);
        }
      },
      scorer.options());
  return scores;
}

/// P(IsNext) [S], in batch.probabilities.
void next_sentence(bert_batch& batch) {
  batch.probabilities.resize(batch.count);
  for_each_pack(batch, [&](size_t first, const PackedBatch& packed, Matrix hidden) {
    const Matrix logits =
        batch.model.classifier->logits(packed, hidden, batch.workspace);  // [S, 2]
    for (size_t s = 0; s < logits.rows; ++s) {
      const double is_next = logits.row(s)[0], not_next = logits.row(s)[1];
      batch.probabilities[first + s] = 1.0 / (1.0 + std::exp(not_next - is_next));
    }
  });
}

}  // namespace

int bert_fill_masks(bert_batch* batch, size_t k, const bert_filling** fillings, size_t* count) {
  return guard([&] {
    need_task(need(batch, "batch").model, "fill-mask");
    need(fillings, "fillings");
    need(count, "count");
    if (k == 0) refuse("k", "found 0");
    for (size_t s = 0; s < batch->count; ++s) {
      if (batch->encoding(s).range(1).size() > 0) refuse("batch", "has a pair, wants single texts");
    }
    batch->fillings.clear();
    fill_masks(*batch, k);
    *fillings = batch->fillings.data();
    *count = batch->fillings.size();
  });
}

int bert_classify(bert_batch* batch, bert_matrix* probabilities) {
  return guard([&] {
    need_task(need(batch, "batch").model, "text-classification");
    need(probabilities, "probabilities") = view(classify(*batch));
  });
}

int bert_label_tokens(bert_batch* batch, bert_matrix* probabilities) {
  return guard([&] {
    need_task(need(batch, "batch").model, "token-classification");
    need(probabilities, "probabilities") = view(label_tokens(*batch));
  });
}

int bert_next_sentence(bert_batch* batch, const double** probabilities) {
  return guard([&] {
    need_task(need(batch, "batch").model, "next-sentence-prediction");
    need(probabilities, "probabilities");
    next_sentence(*batch);
    *probabilities = batch->probabilities.data();
  });
}
