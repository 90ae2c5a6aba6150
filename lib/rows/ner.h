#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/conll.h"
#include "predict/token_labels.h"
#include "rows/task_worker.h"

namespace bert {

/// What a record is.
///   text      a text     words   words that are split already, blanks between
///   columns   the lines of a sentence in CoNLL columns
enum class NerInput { text, words, columns };

/// What is written.
///   rows      one row per entity     marked   the text, <TYPE>its entities</TYPE> marked
///   columns   one row per word with its label, an empty one after each record
enum class NerOutput { rows, marked, columns };

struct NerOptions {
  Aggregation aggregation = Aggregation::first;
  NerInput input = NerInput::text;
  NerOutput output = NerOutput::rows;
  bool scores = false;   ///< in JSON: each word (or token) too, with the probability of each label
  double threshold = 0;  ///< entities of a lower score are left out of rows and marks
  bool gold = false;     ///< the last of the input's columns is the true label
};

/// A row of an entity: a piece of the text and its type.
struct EntityRow {
  size_t start = 0, end = 0;
  std::string_view type = {};
  double score = 0;
  std::string_view text = {};
  BERT_API void cells(Cells& c) const;
};

/// A row of a text with its entities marked.
struct MarkedRow {
  std::string_view marked = {};
  void cells(Cells& c) const { c.text(c.members() ? "marked" : "text", marked); }
};

/// Gets the gold labels of the words of a record, and the predicted ones, once. Called by several
/// threads.
using TagSink = std::function<void(std::span<const std::string_view> gold,
                                   std::span<const std::string_view> predicted)>;

/// Writes the entities of each record.
class BERT_API NerWorker : public TaskWorker {
 public:
  /// Borrows the predictor. Throws Error(usage) if word labels are wanted and the aggregation gives
  /// none.
  NerWorker(const TokenLabelPredictor& predictor, const NerOptions& ner, const TaskOptions& options,
            TagSink sink = {});
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  /// A record and what becomes of it.
  struct Sentence {
    std::string joined;            ///< the words of columns with blanks between
    std::vector<ConllLine> lines;  ///< lines of columns
  };

  void find_words(const Record& record, size_t i);
  void split_columns(const Record& record, size_t i);
  std::vector<Entity> entities(const LabelledText& text) const {
    return predictor_.entities(text, ner_.aggregation, ner_.threshold);
  }
  Offset bytes(const LabelledText& text, size_t word) const {
    return TokenLabelPredictor::bytes(text, ner_.aggregation, word);
  }
  void evaluate(size_t i) const;
  size_t position(std::string_view text, size_t byte) const;
  EntityRow row_of(std::string_view text, const Entity& entity) const;
  static std::string marked(const LabelledText& text, std::span<const Entity> entities);
  void write_entities(const Record& record, size_t i, Rows& rows) const;
  void write_columns(size_t i, Rows& rows) const;
  void write_json(const Record& record, size_t i, Rows& rows) const;
  void add_scores(size_t i, JsonRow& json) const;

  const TokenLabelPredictor& predictor_;
  TokenScorer scorer_;
  const NerOptions ner_;
  const TagSink sink_;
  std::vector<LabelledText> texts_;  ///< texts of the chunk ...
  std::vector<Sentence> sentences_;  ///< ... and their records
};

}  // namespace bert
