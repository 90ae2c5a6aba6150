#pragma once

#include <string_view>
#include <vector>

#include "predict/token_labels.h"
#include "rows/entity_worker.h"

namespace bert {

struct NerOptions : EntityRows {
  Aggregation aggregation = Aggregation::first;
  bool scores = false;   ///< in JSON: each word (or token) too, with the probability of each label
  double threshold = 0;  ///< entities of a lower score are left out of rows and marks
};

/// Writes the entities of each record, of the types that a model was trained for.
class BERT_API NerWorker : public EntityWorker {
 public:
  /// Borrows the predictor. Throws Error(usage) if word labels are wanted and the aggregation gives
  /// none.
  NerWorker(const TokenLabelPredictor& predictor, const NerOptions& ner, const TaskOptions& options,
            TagSink sink = {});

 private:
  void make_texts(size_t count) override;
  WordedText& text(size_t i) override { return texts_[i]; }
  void read(const Record& record, size_t i) override;
  void predict(size_t count) override;
  bool choose(size_t i) override { return predictor_.choose(ner_.aggregation, texts_[i]); }
  std::vector<Entity> entities(size_t i) const override {
    return predictor_.entities(texts_[i], ner_.aggregation, ner_.threshold);
  }
  std::vector<std::string_view> tags(size_t i) const override;
  Offset shown_word(size_t i, size_t word) const override;
  void add_scores(size_t i, JsonRow& json) const override;
  Offset bytes(const LabelledText& text, size_t word) const {
    return TokenLabelPredictor::bytes(text, ner_.aggregation, word);
  }

  const TokenLabelPredictor& predictor_;
  TokenScorer scorer_;
  const NerOptions ner_;
  std::vector<LabelledText> texts_;  ///< texts of the chunk
};

}  // namespace bert
