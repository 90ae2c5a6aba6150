#pragma once

#include <bert/batch.h>
#include <bert/bert.h>

#include <string_view>

namespace bert {
inline namespace v0 {

/// What the head of the batch's model says. Each throws Error(BERT_USAGE) if the model was opened
/// for another task.

using Filling = bert_filling;
using Answer = bert_answer;

/// The k most probable tokens of each mask, best first. fill-mask.
inline Span<const Filling> fill_masks(Batch& batch, size_t k) {
  const Filling* fillings = nullptr;
  size_t count = 0;
  check(bert_fill_masks(batch.c(), k, &fillings, &count));
  return {fillings, count};
}

/// The probability of each label [S, labels]. text-classification.
inline Matrix classify(Batch& batch) {
  bert_matrix out = {};
  check(bert_classify(batch.c(), &out));
  return out;
}

/// The probability of each label for each token [T, labels]. token-classification.
inline Matrix label_tokens(Batch& batch) {
  bert_matrix out = {};
  check(bert_label_tokens(batch.c(), &out));
  return out;
}

/// P(the pair follows the text) [S]. next-sentence-prediction.
inline Span<const double> next_sentence(Batch& batch) {
  const double* out = nullptr;
  check(bert_next_sentence(batch.c(), &out));
  return {out, batch.size()};
}

/// The best answers to a question in a context of any length; the batch's sequences are forgotten.
/// question-answering.
inline Span<const Answer> find_answers(Batch& batch, std::string_view question,
                                       std::string_view context, size_t k = 1,
                                       double* null_margin = nullptr) {
  const Answer* answers = nullptr;
  size_t count = 0;
  check(bert_find_answers(batch.c(), detail::text(question), detail::text(context), k, &answers,
                          &count, null_margin));
  return {answers, count};
}

}  // namespace v0
}  // namespace bert
