#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "predict/answers.h"
#include "rows/ranking.h"
#include "rows/task_worker.h"

namespace bert {

/// The best answer of a record that a search read.
struct FoundAnswer {
  std::string file;
  uint64_t number = 0;  ///< number of the record, over all files
  uint64_t record = 0;  ///< within its file
  double score = 0;
  size_t start = 0, end = 0;
  std::string answer;

  void cells(Cells& c) const {
    c.text("file", file).count("record", record).number("score", score);
    c.count("start", start).count("end", end).text("answer", answer);
  }
  static constexpr bool kIsPart = true;  ///< a piece of its record's text
  /// The fields of a row of a record beside it, or of its own.
  static void beside(const NearRecord& other, Rows& rows) {
    rows.field(other.file).field(other.record).field("").field("").field("").field(other.text);
  }
};

using AnswerRanking = Ranking<FoundAnswer>;

/// A row: an answer of a record, and where it stands in the context.
struct AnswerRow {
  std::string_view answer = {};
  double score = 0;
  size_t start = 0, end = 0;

  void cells(Cells& c) const {
    c.text("answer", answer).number("score", score).count("start", start).count("end", end);
  }
};

struct QaOptions {
  size_t top_k = 1;
  size_t max_answer_length = task_spec(TaskKind::question_answering).max_answer_length;  ///< tokens
  std::optional<double> null_margin;  ///< no answer if its logit exceeds the best's by more
  double threshold = 0;               ///< least score in a search
  std::string question;               ///< question of a search, put to every record
};

/// Get what was found in each record, once; called by several threads.
struct AnswerSinks {
  /// The best answer of a record, in a search. No rows are written.
  std::function<void(FoundAnswer)> found = {};
  /// Otherwise: its best answer, empty if there is none.
  std::function<void(const Record& record, std::string_view best)> answered = {};
};

/// Answers the question in each record's text from its text_pair, the context; or in a search one
/// question from each record's text.
class BERT_API QaWorker : public TaskWorker {
 public:
  /// Borrows the predictor. Throws Error(usage) if a window has no room for a context.
  QaWorker(const AnswerPredictor& predictor, const QaOptions& qa, const TaskOptions& options,
           AnswerSinks sinks = {});
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  void read_question(const Record& record);
  void offer(const Record& record, std::string_view context, const Answers& answers);
  AnswerRow row_of(std::string_view context, const Answer& answer) const;
  void write_answers(const Record& record, const Answers& answers, Rows& rows);
  void write_json(const Record& record, const Answers& answers, Rows& rows) const;
  size_t position(std::string_view context, size_t byte) const;

  const AnswerPredictor& predictor_;
  const QaOptions qa_;
  const AnswerSinks sinks_;
  AnswerFinder finder_;
  Questions questions_;  ///< questions of the chunk
};

}  // namespace bert
