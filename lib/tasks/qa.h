#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/export.h"
#include "metrics/answer_metrics.h"
#include "tasks/answers.h"
#include "tasks/ranking.h"
#include "tasks/task.h"

namespace bert {

/// The best answer of a record that a search read.
struct FoundAnswer {
  std::string file;
  uint64_t number = 0;  ///< of the record, over all files
  uint64_t record = 0;  ///< within its file
  double score = 0;
  size_t start = 0, end = 0;
  std::string answer;
};

class BERT_API AnswerRanking : public Ranking<FoundAnswer> {
 public:
  using Ranking::Ranking;
  /// One row per answer, best first: file record score start end answer.
  void write(Rows& rows, bool json);
};

struct QaOptions {
  size_t top_k = 1;
  size_t max_answer_length = kMaxAnswerLength;  ///< tokens
  std::optional<double> null_margin;  ///< no answer if its logit exceeds the best's by more
  double threshold = 0;               ///< of a search: the least score
  std::string question;               ///< of a search: put to every record
  AnswerRanking* ranking =
      nullptr;  ///< of a search: hears of each record's best answer; no rows are written
  AnswerMetrics* metrics = nullptr;  ///< hears of each record's true answers, extra[0]
};

/// The question, or as much of its begin as fills half of a window; its tokens in `tokens`, of
/// which some are then dropped.
BERT_API std::string_view fit_question(const Tokenizer& tokenizer, const EncodeOptions& window,
                                       std::string_view question, Encoding& tokens,
                                       Tokenizer::Scratch& scratch);

/// Answers the question in each record's text from its text_pair, the context (Rajpurkar et al.
/// 2016).
class BERT_API QaWorker : public TaskWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) if a window has no room for a context.
  QaWorker(const Tokenizer& tokenizer, const Model& model, const QuestionAnswering& head,
           const QaOptions& qa, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  Record with_question(const Record& record);
  void encode_windows(const Record& record, size_t owner);
  void compute_logits();
  void offer(const Record& record, std::string_view context, const Answers& answers);
  void write(const Record& record, const Answers& answers, Rows& rows);
  void write_row(const Record& record, std::string_view answer, double score, size_t begin,
                 size_t end, Rows& rows) const;
  void write_json(const Record& record, const Answers& answers, Rows& rows) const;
  size_t position(std::string_view context, size_t byte) const;

  const QuestionAnswering& head_;
  const QaOptions qa_;
  AnswerFinder finder_;
  Encoding question_;
  std::vector<size_t> steps_;       ///< [records]: tokens from window to window
  std::vector<float> start_, end_;  ///< logits of all tokens of the chunk
};

}  // namespace bert
