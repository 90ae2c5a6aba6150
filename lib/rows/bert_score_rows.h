#pragma once

#include <functional>
#include <optional>

#include "predict/bert_score.h"
#include "rows/task_worker.h"

namespace bert {

struct BertScoreOptions {
  size_t references = 1;              ///< in text_pair, then in extra fields
  std::optional<BertScore> baseline;  ///< scores are rescaled by it
};

/// A row: the best score of a candidate with its references.
struct BertScoreRow {
  BertScore score;
  void cells(Cells& c) const {
    c.number("precision", score.precision).number("recall", score.recall).number("f1", score.f1);
  }
};

/// Whether BERTScore reads texts behind a blank: those of RoBERTa's and GPT-2's tokenizers, by the
/// names of their classes. (transformers 5 takes the blank away, with which the published scores
/// and baselines were computed.)
BERT_API bool reads_behind_blank(const ModelDirectory& directory);

/// Reads the candidate, a record's text, and its references as BERTScore does: without white space
/// around them, or behind a blank.
class BERT_API BertScoreReader : public TaskWorker {
 protected:
  /// Throws Error(usage) for windows.
  BertScoreReader(const VectorPredictor& predictor, bool behind_blank, const TaskOptions& options);
  void read_text(const Record& record, std::string_view text, size_t number);
  static std::string_view reference(const Record& record, size_t number) {
    return number == 0 ? record.text_pair : record.extra[number - 1];
  }

 private:
  const bool behind_blank_;
  std::string text_;
};

/// Counts in which references each token is; writes nothing.
class BERT_API TokenIdfWorker : public BertScoreReader {
 public:
  TokenIdfWorker(const VectorPredictor& predictor, bool behind_blank, size_t references,
                 const TaskOptions& options, TokenIdf& idf)
      : BertScoreReader(predictor, behind_blank, options), references_(references), idf_(idf) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  const size_t references_;
  TokenIdf& idf_;
};

class BERT_API BertScoreWorker : public BertScoreReader {
 public:
  /// Borrows predictor, `idf`, which may be nullptr, and the cache.
  BertScoreWorker(const VectorPredictor& predictor, bool behind_blank,
                  const BertScoreOptions& score, const TokenIdf* idf, ScoredTextCache& cache,
                  const TaskOptions& options,
                  std::function<void(const Record& record, double f1)> sink = {})
      : BertScoreReader(predictor, behind_blank, options),
        score_(score),
        sink_(std::move(sink)),
        scratch_of_vectors_(predictor, reader_.options(), batcher_),
        texts_(predictor, scratch_of_vectors_, idf, cache) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  const BertScoreOptions score_;
  const std::function<void(const Record& record, double f1)> sink_;
  VectorScratch scratch_of_vectors_;
  ScoredTexts texts_;
};

}  // namespace bert
