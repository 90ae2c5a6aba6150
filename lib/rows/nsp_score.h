#pragma once

#include <functional>
#include <vector>

#include "metrics/metrics.h"
#include "predict/next_sentence.h"
#include "rows/task_worker.h"

namespace bert {

struct NspScoreOptions {
  bool logits = false;    ///< the two logits instead of the probability
  bool adjacent = false;  ///< StreamOptions::adjacent: a record's text is the line before it
};

/// A row: P(IsNext) or both logits; in JSON all of them.
struct NextSentenceRow {
  bool logits = false;
  NextSentence score = {};
  BERT_API void cells(Cells& c) const;
};

/// Gets P(IsNext) of each record, once; NaN if it has no pair. Called by several threads.
using NextSentenceSink = std::function<void(const Record& record, double is_next)>;

/// Compares it with the record's gold label, extra[0]. Throws Error(data) naming the record for
/// another.
BERT_API void add_gold(LabelMetrics& metrics, const Record& record, double is_next);

/// P(text_pair follows text) of each record.
///
/// With `adjacent`, a line that nothing stands before, or that is blank or follows a blank line
/// (the mark between documents in BERT's own corpus format), has no pair: its row is `nan`.
class BERT_API NspScoreWorker : public TaskWorker {
 public:
  /// Borrows tokenizer and predictor. Throws Error(usage) for windows, which have no meaning here.
  NspScoreWorker(const Tokenizer& tokenizer, const NextSentencePredictor& predictor,
                 const NspScoreOptions& nsp, const TaskOptions& options,
                 NextSentenceSink sink = {});
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  bool has_pair(const Record& record) const;

  const NextSentencePredictor& predictor_;
  const NspScoreOptions nsp_;
  const NextSentenceSink sink_;
  std::vector<NextSentence> scores_;  ///< [records] of the chunk
};

}  // namespace bert
