#include "tasks/answers.h"

#include "api/handles.h"
#include "tasks/qa.h"
#include "tokenizer/windows.h"

using namespace bert;
using namespace bert::api;

namespace {

constexpr size_t kStride = 128;  // tokens of the context that two windows share, as in `qa`

/// The windows of question and context become the batch's sequences. Returns the tokens of the
/// context from one to the next.
size_t add_windows(bert_batch& batch, std::string_view question, std::string_view context,
                   std::vector<Encoding>& windows) {
  const Tokenizer& tokenizer = batch.model.tokenizer.tokenizer;
  EncodeOptions encode = batch.encode;
  encode.truncation = Truncation::only_second;
  Encoding tokens;
  question = fit_question(tokenizer, encode, question, tokens, batch.scratch);
  if (batch.strict && (tokens.dropped > 0 || tokens.replaced_bytes > 0)) {
    throw Error(Error::Kind::data, "question", "is too long, or is not UTF-8");
  }
  const size_t room = encode.max_length - tokenizer.added_tokens_pair() - tokens.size();
  const size_t stride = window_stride(room, std::min(kStride, batch.encode.max_length / 2));
  tokenizer.encode_pair_windows(question, context, encode, stride, windows, batch.scratch);
  if (batch.strict && windows[0].replaced_bytes > 0) {
    throw Error(Error::Kind::data, "context", "is not UTF-8");
  }
  return room - stride;
}

/// The start and end logits [T] of all windows.
void window_logits(bert_batch& batch, std::span<const Encoding> windows, std::vector<float>& start,
                   std::vector<float>& end) {
  bert_batch_clear(&batch);
  for (const Encoding& window : windows) {
    if (bert_batch_add_ids(&batch, window.input_ids.data(), window.token_type_ids.data(),
                           window.size()) != BERT_OK) {
      throw Error(Error::Kind::data, "", bert_last_error());
    }
  }
  for_each_pack(batch, [&](size_t, const PackedBatch&, Matrix hidden) {
    const Matrix logits =
        batch.model.question_answering->logits(hidden, batch.workspace);  // [T, 2]
    for (size_t t = 0; t < logits.rows; ++t) {
      start.push_back(logits.row(t)[0]);
      end.push_back(logits.row(t)[1]);
    }
  });
  bert_batch_clear(&batch);
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
    if (batch->encode.max_length < batch->model.tokenizer.tokenizer.added_tokens_pair() + 2) {
      refuse("max_length", "a window has no room for a context");
    }
    std::vector<Encoding> windows;
    const size_t step = add_windows(*batch, asked, text, windows);
    std::vector<float> start, end;
    window_logits(*batch, windows, start, end);
    const Answers found = AnswerFinder(k, kMaxAnswerLength).find(windows, step, start, end, text);
    if (!found.finite) throw Error(Error::Kind::data, "context", "its result is not a number");
    batch->answers.clear();
    for (const Answer& a : found.best) batch->answers.push_back({a.begin, a.end, a.score});
    *answers = batch->answers.data();
    *count = batch->answers.size();
    if (null_margin) *null_margin = found.null_margin;
  });
}
