#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heads/classification.h"
#include "tasks/ranking.h"
#include "tasks/task.h"

namespace bert {

struct RankOptions {
  std::string query;                ///< of a search: put before every record
  std::optional<double> threshold;  ///< of a search: the least score
  TextRanking* ranking = nullptr;   ///< of a search: gets each record's score; no rows are written
};

/// How well a text answers a query: a score for each record, which is a pair of both or, in a
/// search, the text alone. A derived class computes the scores.
class BERT_API RankWorker : public TaskWorker {
 public:
  void run(std::span<const Record> records, Rows& rows) override;

 protected:
  /// Borrows all but the options.
  RankWorker(const Tokenizer& tokenizer, const Model& model, const RankOptions& rank,
             const TaskOptions& options)
      : TaskWorker(tokenizer, &model, options), rank_(rank) {}
  /// Sets scores_ [records].
  virtual void score(std::span<const Record> records) = 0;
  bool searches() const { return rank_.ranking != nullptr; }

  const RankOptions rank_;
  std::vector<double> scores_;  ///< [records] of the chunk

 private:
  void offer(const Record& record, double score);
  void write(const Record& record, double score, Rows& rows) const;
};

/// Whether the model's files put the scores of its CrossEncoder through a sigmoid. Otherwise a
/// score is the logit itself, which tells apart what a sigmoid in float rounds to 1.
BERT_API bool saves_sigmoid(const Model& model);

/// Scores of a cross-encoder (Nogueira and Cho 2019), which reads query and text as one pair: the
/// logit of a classifier with one output, as CrossEncoder of sentence-transformers computes it, or
/// its sigmoid. The score of a text in several windows is that of its best window (MaxP, Dai and
/// Callan 2019).
class BERT_API CrossEncoderWorker : public RankWorker {
 public:
  /// Borrows all but the options. Throws Error(unsupported) for a head with several outputs.
  CrossEncoderWorker(const Tokenizer& tokenizer, const Model& model, const Classifier& head,
                     bool sigmoid, const RankOptions& rank, const TaskOptions& options);

 protected:
  void score(std::span<const Record> records) override;

 private:
  const Classifier& head_;
  const bool sigmoid_;
};

}  // namespace bert
