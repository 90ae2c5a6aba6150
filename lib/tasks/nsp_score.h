#pragma once

#include "heads/classification.h"
#include "metrics/metrics.h"
#include "tasks/task.h"

namespace bert {

struct NspScoreOptions {
  bool logits = false;    ///< the two logits instead of the probability
  bool adjacent = false;  ///< StreamOptions::adjacent: a record's text is the line before it
  LabelMetrics* metrics = nullptr;  ///< hears of each pair's true label, extra[0]
};

/// P(text_pair follows text) of each record (Devlin et al. 2019, task 2): the softmax of the two
/// logits of cls.seq_relationship, of which index 0 is IsNext.
///
/// With `adjacent`, a line that nothing stands before, or that is blank or follows a blank line
/// (the mark between documents in BERT's own corpus format), has no pair: its row is `nan`.
class BERT_API NspScoreWorker : public TaskWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) for windows, which have no meaning
  /// here.
  NspScoreWorker(const Tokenizer& tokenizer, const Model& model, const Classifier& next_sentence,
                 const NspScoreOptions& nsp, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  struct Score {
    bool has_pair = false;
    float is_next = 0;  ///< logits
    float not_next = 0;
    double probability() const;
  };
  bool has_pair(const Record& record) const;
  void evaluate(const Record& record, const Score& score) const;
  void write(const Record& record, const Score& score, Rows& rows);
  void write_json(const Record& record, const Score& score, Rows& rows) const;

  const Classifier& next_sentence_;
  const NspScoreOptions nsp_;
  std::vector<Score> scores_;  ///< [records] of the chunk
};

}  // namespace bert
