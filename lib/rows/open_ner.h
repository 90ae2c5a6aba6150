#pragma once

#include <string_view>
#include <vector>

#include "predict/entity_predictor.h"
#include "rows/entity_worker.h"

namespace bert {

/// Writes the entities of each record, of types whose names a user gives.
class BERT_API OpenNerWorker : public EntityWorker {
 public:
  /// Borrows the predictor.
  OpenNerWorker(const OpenEntityPredictor& predictor, const EntityRows& shape,
                const TaskOptions& options, TagSink sink = {});

 private:
  void make_texts(size_t count) override;
  WordedText& text(size_t i) override { return texts_[i].shown; }
  void read(const Record& record, size_t i) override;
  void predict(size_t count) override;
  bool choose(size_t i) override { return searched_[i].finite; }
  std::vector<Entity> entities(size_t i) const override {
    return predictor_.entities(searched_[i]);
  }
  std::vector<std::string_view> tags(size_t i) const override;
  Offset shown_word(size_t i, size_t word) const override { return searched_[i].words[word]; }

  /// A text with all of its words.
  struct Text {
    WordedText shown;
    std::vector<size_t> words;  ///< given words that are not empty
  };
  const OpenEntityPredictor& predictor_;
  EntityScorer scorer_;
  std::vector<Text> texts_;             ///< texts of the chunk ...
  std::vector<SearchedText> searched_;  ///< ... and their words that the model reads
};

}  // namespace bert
