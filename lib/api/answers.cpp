#include "predict/answers.h"

#include "api/handles.h"

using namespace bert;
using namespace bert::api;

namespace {

/// How a batch reads questions: in windows, as long as its sequences.
TextReader& reader_of(bert_batch& batch) {
  if (batch.questions) return *batch.questions;
  const EncodeOptions& own = batch.reader.options().encode;
  ReadOptions reading = batch.model.reading;
  reading.encode.max_length = own.max_length;
  reading.encode.literal = own.literal;
  reading.stride = batch.model.spec().stride_within(own.max_length);
  return batch.questions.emplace(batch.model.tokenizer.tokenizer, reading);
}

Answers find_answers(bert_batch& batch, std::string_view question, std::string_view context,
                     size_t k) {
  const AnswerPredictor& predictor = *batch.model.answers;
  Questions questions;
  const QuestionReading found = predictor.read(question, context, reader_of(batch), questions);
  if (batch.strict && (found.question_cut || found.question_replaced > 0)) {
    throw Error(Error::Kind::data, "question", "is too long, or is not UTF-8");
  }
  if (batch.strict && found.replaced_bytes > 0) {
    throw Error(Error::Kind::data, "context", "is not UTF-8");
  }
  AnswerFinder finder(k, batch.model.spec().max_answer_length);
  Answers answers;
  predictor.predict(questions, finder, batch.batcher,
                    [&](size_t, Answers&& found) { answers = std::move(found); });
  return answers;
}

}  // namespace

int bert_find_answers(bert_batch* batch, bert_text question, bert_text context, size_t k,
                      const bert_answer** answers, size_t* count, double* null_margin) {
  return guard([&] {
    need_task(need(batch, "batch").model, "question-answering");
    need(answers, "answers");
    need(count, "count");
    if (k == 0) refuse("k", "found 0");
    const std::string_view asked = text_of(question.data, question.size, "question");
    const std::string_view text = text_of(context.data, context.size, "context");
    if (batch->reader.options().encode.max_length <
        batch->model.tokenizer.tokenizer.added_tokens_pair() + 2) {
      refuse("max_length", "a window has no room for a context");
    }
    bert_batch_clear(batch);
    const Answers found = find_answers(*batch, asked, text, k);
    if (!found.finite) throw Error(Error::Kind::data, "context", "its result is not a number");
    batch->answers.clear();
    for (const Answer& a : found.best) batch->answers.push_back({a.begin, a.end, a.score});
    *answers = batch->answers.data();
    *count = batch->answers.size();
    if (null_margin) *null_margin = found.null_margin;
  });
}
