#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "predict/cross_encoder.h"
#include "predict/maxsim.h"
#include "rows/ranking.h"
#include "rows/task_worker.h"

namespace bert {

struct RankOptions {
  std::string query;                ///< query of a search, put before every record
  std::optional<double> threshold;  ///< least score in a search
};

/// A row of a pair.
struct ScoreRow {
  double score = 0;
  void cells(Cells& c) const { c.number("score", score); }
};

/// Gets each record of a search with its score, once, in place of rows. Called by several threads.
using TextSink = std::function<void(FoundText)>;

/// Gets each record with its score, once, and the query that it is for. Called by several threads.
using ScoreSink = std::function<void(const Record& record, std::string_view query, double score)>;

struct RankSinks {
  TextSink found = {};    ///< a search's; without it, records have rows
  ScoreSink scored = {};  ///< may be empty
};

/// How well a text answers a query: a score for each record, which is a pair of both or, in a
/// search, the text alone. A derived class computes the scores.
class BERT_API RankWorker : public TaskWorker {
 public:
  void run(std::span<const Record> records, Rows& rows) override;

 protected:
  RankWorker(const Tokenizer& tokenizer, const RankOptions& rank, const TaskOptions& options,
             RankSinks sinks)
      : TaskWorker(tokenizer, options), rank_(rank), sinks_(std::move(sinks)) {}
  /// Sets scores_ [records].
  virtual void score(std::span<const Record> records) = 0;
  bool searches() const { return static_cast<bool>(sinks_.found); }

  const RankOptions rank_;
  std::vector<double> scores_;  ///< [records] of the chunk

 private:
  void offer(const Record& record, double score);

  const RankSinks sinks_;
};

/// By a classifier that reads query and text as one pair.
class BERT_API CrossEncoderWorker : public RankWorker {
 public:
  /// Borrows tokenizer and encoder. Throws Error as CrossEncoder::check.
  CrossEncoderWorker(const Tokenizer& tokenizer, const CrossEncoder& encoder,
                     const RankOptions& rank, const TaskOptions& options, RankSinks sinks);

 protected:
  void score(std::span<const Record> records) override;

 private:
  const CrossEncoder& encoder_;
};

/// By the vectors of the tokens of both.
class BERT_API MaxSimWorker : public RankWorker {
 public:
  /// Borrows all but the options; plan.document.tokenizer is what the options' length is of.
  MaxSimWorker(const Model& model, const MaxSimPlan& plan, const RankOptions& rank,
               const TaskOptions& options, RankSinks sinks);

 protected:
  void score(std::span<const Record> records) override;

 private:
  void make_queries(std::span<const Record> records);
  void note_query(const Record& record, const Encoding& encoding);

  const MaxSimPlan& plan_;
  MaxSim maxsim_;
  std::vector<MaxSim::Query> queries_;  ///< queries of the chunk; the last stays for the next chunk
  std::vector<size_t> query_of_;        ///< [records]
};

}  // namespace bert
