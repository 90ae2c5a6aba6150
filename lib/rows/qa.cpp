#include "rows/qa.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "io/json.h"
#include "text/unicode.h"
#include "tokenizer/windows.h"

namespace bert {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

QaWorker::QaWorker(const AnswerPredictor& predictor, const QaOptions& qa,
                   const TaskOptions& options, AnswerSinks sinks)
    : TaskWorker(predictor.tokenizer(), options),
      predictor_(predictor),
      qa_(qa),
      sinks_(std::move(sinks)),
      finder_(qa.top_k, qa.max_answer_length) {
  predictor.check_room(options.encode);
}

void QaWorker::read_question(const Record& record) {
  const bool search = static_cast<bool>(sinks_.found);
  QuestionReading reading;
  try {
    reading = predictor_.read(search ? std::string_view(qa_.question) : record.text,
                              search ? record.text : record.text_pair, reader_, questions_);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::usage) throw;
    record.fail(Error::Kind::data, error.what());
  }
  if (reading.question_cut) {
    if (options_.strict || options_.overflow == Overflow::error) {
      record.fail(Error::Kind::data, "its question is too long");
    }
    note_cut(record);
  }
  note(record, reading, true);
}

void QaWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  questions_.clear();
  for (const Record& record : records) read_question(record);
  predictor_.predict(questions_, finder_, batcher_, [&](size_t i, const Answers& answers) {
    if (!answers.finite) note_non_finite(records[i]);
    if (sinks_.found) {
      offer(records[i], questions_.contexts[i], answers);
    } else {
      write_answers(records[i], answers, rows);
    }
  });
}

size_t QaWorker::position(std::string_view context, size_t byte) const {
  return options_.chars ? count_code_points(context.substr(0, byte)) : byte;
}

void QaWorker::offer(const Record& record, std::string_view context, const Answers& answers) {
  if (is_null(answers, qa_.null_margin) || answers.best[0].score < qa_.threshold) return;
  const Answer& best = answers.best[0];
  once(record, [&] {
    sinks_.found({*record.file, record.number, record.number_in_file, best.score,
                  position(context, best.begin), position(context, best.end),
                  std::string(context.substr(best.begin, best.end - best.begin))});
  });
}

AnswerRow QaWorker::row_of(std::string_view context, const Answer& a) const {
  return {context.substr(a.begin, a.end - a.begin), a.score, position(context, a.begin),
          position(context, a.end)};
}

void QaWorker::write_answers(const Record& record, const Answers& answers, Rows& rows) {
  const std::string_view context = record.text_pair;
  const bool null = is_null(answers, qa_.null_margin);
  if (sinks_.answered) {
    once(record, [&] { sinks_.answered(record, best_answer(answers, context, qa_.null_margin)); });
  }
  if (options_.json) return write_json(record, answers, rows);
  if (null) write(record, AnswerRow{"", answers.finite ? answers.null_score : kNan}, rows);
  for (size_t i = 0; i + (null ? 1 : 0) < qa_.top_k && i < answers.best.size(); ++i) {
    write(record, row_of(context, answers.best[i]), rows);
  }
}

void QaWorker::write_json(const Record& record, const Answers& answers, Rows& rows) const {
  begin(record, rows, Repeats::pair);
  JsonRow json(rows.raw());
  json.list("answers");
  for (const Answer& answer : answers.best) add_object(rows, row_of(record.text_pair, answer));
  json.end_list();
  json.number("null_score", answers.finite ? answers.null_score : kNan);
  json.number("null_margin", answers.finite ? answers.null_margin : kNan);
  if (qa_.null_margin) json.flag("answered", !is_null(answers, qa_.null_margin));
  end(record, rows);
}

}  // namespace bert
