#include "tasks/qa.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "io/json.h"
#include "text/unicode.h"
#include "tokenizer/windows.h"

namespace bert {

void AnswerRanking::write(Rows& rows, bool json) {
  for (const FoundAnswer& e : sorted()) {
    if (!json) {
      rows.field(e.file).field(e.record).number(e.score).field(e.start).field(e.end).field(
          e.answer);
      rows.end();
      continue;
    }
    JsonRow json(rows.raw());
    json.object().text("file", e.file).count("record", e.record).number("score", e.score);
    json.count("start", e.start).count("end", e.end).text("answer", e.answer).end_object();
    rows.end();
  }
}

QaWorker::QaWorker(const Tokenizer& tokenizer, const Model& model, const QuestionAnswering& head,
                   const QaOptions& qa, const TaskOptions& options)
    : TaskWorker(tokenizer, &model, options),
      head_(head),
      qa_(qa),
      finder_(qa.top_k, qa.max_answer_length) {
  if (options.encode.max_length < tokenizer.added_tokens_pair() + 2) {
    throw Error::of_field("max_length",
                          fmt::format("found {}, wants at least {}", options.encode.max_length,
                                      tokenizer.added_tokens_pair() + 2));
  }
}

std::string_view fit_question(const Tokenizer& tokenizer, const EncodeOptions& window,
                              std::string_view question, Encoding& tokens,
                              Tokenizer::Scratch& scratch) {
  EncodeOptions alone = window;
  alone.add_special_tokens = false;
  alone.truncation = Truncation::longest_first;
  alone.max_length = (window.max_length - tokenizer.added_tokens_pair()) / 2;
  tokenizer.encode(question, alone, tokens, scratch);
  return tokens.dropped > 0 ? question.substr(0, tokens.offsets.back().end) : question;
}

/// The record as question and context.
Record QaWorker::with_question(const Record& record) {
  Record pair = record;
  if (qa_.ranking) {
    pair.text = qa_.question;
    pair.text_pair = record.text;
  }
  pair.text = fit_question(tokenizer_, options_.encode, pair.text, question_, scratch_);
  if (question_.dropped > 0) {
    if (options_.strict || options_.overflow == Overflow::error) {
      record.fail(Error::Kind::data, "its question is too long");
    }
    note_cut(record);
  }
  return pair;
}

void QaWorker::encode_windows(const Record& record, size_t owner) {
  const Record pair = with_question(record);
  const size_t room =
      options_.encode.max_length - tokenizer_.added_tokens_pair() - question_.size();
  const size_t stride = window_stride(room, options_.stride);
  steps_[owner] = room - stride;
  if (options_.overflow == Overflow::window) {
    const size_t first = encodings().size();
    TaskWorker::encode_windows(pair, true, stride, owner);
    note(record, encodings()[first]);
  } else {
    encode(pair, true, owner);
  }
}

/// start_, end_ [tokens of all encodings]
void QaWorker::compute_logits() {
  start_.clear();
  end_.clear();
  for_each_batch([&](size_t, const PackedBatch&, Matrix hidden) {
    const Matrix logits = head_.logits(hidden, workspace_);  // [T, 2]
    for (size_t t = 0; t < logits.rows; ++t) {
      start_.push_back(logits.row(t)[0]);
      end_.push_back(logits.row(t)[1]);
    }
  });
}

void QaWorker::run(std::span<const Record> records, Rows& rows) {
  steps_.assign(records.size(), 0);
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) encode_windows(records[i], i);
  compute_logits();
  size_t window = 0, token = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    size_t last = window, tokens = 0;
    for (; last < owners_.size() && owners_[last] == i; ++last) tokens += encodings()[last].size();
    const std::string_view context = qa_.ranking ? records[i].text : records[i].text_pair;
    const Answers answers = finder_.find(encodings().subspan(window, last - window), steps_[i],
                                         std::span(start_).subspan(token, tokens),
                                         std::span(end_).subspan(token, tokens), context);
    if (!answers.finite) note_non_finite(records[i]);
    if (qa_.ranking) {
      offer(records[i], context, answers);
    } else {
      write(records[i], answers, rows);
    }
    window = last;
    token += tokens;
  }
}

size_t QaWorker::position(std::string_view context, size_t byte) const {
  return options_.chars ? count_code_points(context.substr(0, byte)) : byte;
}

void QaWorker::offer(const Record& record, std::string_view context, const Answers& answers) {
  if (is_null(answers, qa_.null_margin) || answers.best[0].score < qa_.threshold) return;
  const Answer& best = answers.best[0];
  once(record, [&] {
    qa_.ranking->add({*record.file, record.number, record.number_in_file, best.score,
                      position(context, best.begin), position(context, best.end),
                      std::string(context.substr(best.begin, best.end - best.begin))});
  });
}

void QaWorker::write(const Record& record, const Answers& answers, Rows& rows) {
  const std::string_view context = record.text_pair;
  const bool null = is_null(answers, qa_.null_margin);
  if (qa_.metrics) {
    const auto best = best_answer(answers, context, qa_.null_margin);
    once(record, [&] { qa_.metrics->add(gold_answers(record.extra[0]), best); });
  }
  if (options_.json) {
    write_json(record, answers, rows);
    return;
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (null) write_row(record, "", answers.finite ? answers.null_score : nan, 0, 0, rows);
  for (size_t i = 0; i + (null ? 1 : 0) < qa_.top_k && i < answers.best.size(); ++i) {
    const Answer& a = answers.best[i];
    write_row(record, context.substr(a.begin, a.end - a.begin), a.score, position(context, a.begin),
              position(context, a.end), rows);
  }
}

void QaWorker::write_row(const Record& record, std::string_view answer, double score, size_t begin,
                         size_t end, Rows& rows) const {
  begin_row(rows, record);
  rows.field(answer).number(score).field(begin).field(end);
  end_row(rows, record);
}

void QaWorker::write_json(const Record& record, const Answers& answers, Rows& rows) const {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string_view context = record.text_pair;
  JsonRow json = begin_json(rows, record, true).list("answers");
  for (const Answer& a : answers.best) {
    json.object().text("answer", context.substr(a.begin, a.end - a.begin)).number("score", a.score);
    json.count("start", position(context, a.begin)).count("end", position(context, a.end));
    json.end_object();
  }
  json.end_list();
  json.number("null_score", answers.finite ? answers.null_score : nan);
  json.number("null_margin", answers.finite ? answers.null_margin : nan);
  if (qa_.null_margin) json.flag("answered", !is_null(answers, qa_.null_margin));
  end_json(rows);
}

}  // namespace bert
