#include <cmath>

#include "api/handles.h"
#include "ops/kernels.h"

using namespace bert;
using namespace bert::api;

namespace {

/// The masks of the sequences, each with the k best tokens, in batch.fillings.
void fill(bert_batch& batch, size_t k) {
  const Tokenizer& tokenizer = batch.model.tokenizer.tokenizer;
  MaskQueries queries(batch.model.model(), *batch.model.masked_lm, kBatchTokens);
  queries.use_team(batch.team.get());
  fill_masks(queries, tokenizer.mask_id(), fillable_tokens(tokenizer), batch.sequences.encodings(),
             k, [&](size_t sequence, size_t position, std::span<const ScoredId> best) {
               for (const ScoredId& one : best) {
                 batch.fillings.push_back({sequence, position, one.id, std::exp(one.logprob)});
               }
             });
}

/// Probabilities [T, labels], in batch.result.
Matrix label_tokens(bert_batch& batch) {
  const TokenLabelPredictor& predictor = *batch.model.token_labels;
  TokenScorer scorer(predictor.head());
  const Matrix scores = batch.result.matrix(batch.tokens(), predictor.labels().size());
  predictor.for_each_batch(batch.sequences.encodings(), scorer, batch.batcher,
                           [&](size_t first, const PackedBatch&, Matrix logits) {
                             const Matrix rows = scores.slice(batch.begins[first], logits.rows);
                             copy(logits, rows);
                             for (size_t t = 0; t < rows.rows; ++t)
                               softmax({rows.row(t), rows.cols});
                           });
  return scores;
}

/// P(IsNext) [S], in batch.probabilities.
void next_sentence(bert_batch& batch) {
  batch.model.next_sentence->predict(batch.sequences, batch.count(), batch.batcher, batch.pairs);
  batch.probabilities.clear();
  for (const NextSentence& pair : batch.pairs) {
    batch.probabilities.push_back(pair.probability());
  }
}

}  // namespace

int bert_fill_masks(bert_batch* batch, size_t k, const bert_filling** fillings, size_t* count) {
  return guard([&] {
    need_task(need(batch, "batch").model, "fill-mask");
    need(fillings, "fillings");
    need(count, "count");
    if (k == 0) refuse("k", "found 0");
    for (size_t s = 0; s < batch->count(); ++s) {
      if (batch->sequences[s].range(1).size() > 0)
        refuse("batch", "has a pair, wants single texts");
    }
    batch->fillings.clear();
    fill(*batch, k);
    *fillings = batch->fillings.data();
    *count = batch->fillings.size();
  });
}

int bert_classify(bert_batch* batch, bert_matrix* probabilities) {
  return guard([&] {
    need_task(need(batch, "batch").model, "text-classification");
    bert_matrix& to = need(probabilities, "probabilities");
    LabelScores& scores = batch->scores;
    batch->model.labels->predict(batch->sequences, batch->count(), batch->batcher, scores);
    to = {scores.values.data(), batch->count(), scores.labels};
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
