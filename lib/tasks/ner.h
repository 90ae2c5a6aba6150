#pragma once

#include <string>
#include <vector>

#include "heads/token_classification.h"
#include "io/conll.h"
#include "metrics/entities.h"
#include "tasks/aggregation.h"
#include "tasks/task.h"
#include "tokenizer/windows.h"

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
  EntityMetrics* metrics = nullptr;  ///< counts the true labels, the last of the input's columns
};

/// Finds the entities of each record, as transformers' token-classification pipeline does. A long
/// text is read in windows; each token counts in the one where it has the most context.
class BERT_API NerWorker : public TaskWorker {
 public:
  /// Borrows everything but the options. Throws Error(usage) if a window has no room for a token,
  /// or word labels are wanted and the aggregation gives none.
  NerWorker(const Tokenizer& tokenizer, const Model& model, const TokenClassifier& head,
            const NerOptions& ner, const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  /// A record and what becomes of it.
  struct Sentence {
    std::string_view text;         ///< the record's, or `joined`
    std::string joined;            ///< the words of columns with blanks between
    std::vector<ConllLine> lines;  ///< of columns
    std::vector<Offset> words;     ///< given words, bytes of the text
    Encoding tokens;               ///< of the text, without special tokens
    std::vector<TokenWindow> windows;
    size_t first_encoding = 0;
    std::vector<float> scores;         ///< [tokens, labels]
    std::vector<LabelledWord> labels;  ///< of all given words; of text: of its words or tokens
  };
  /// Bytes [begin, end) of the text, with the combining marks of its letters.
  struct Entity {
    size_t begin, end;
    std::string_view type;
    double score;
  };

  void encode_sentence(const Record& record, size_t owner);
  void split_columns(const Record& record, Sentence& s) const;
  void encode_words(Sentence& s);
  void add_windows(Sentence& s, size_t owner);
  void compute_scores();
  void choose_labels(const Record& record, Sentence& s);
  Offset bytes(const Sentence& s, size_t word) const;
  std::string_view tag(const LabelledWord& word) const;
  std::vector<Entity> entities(const Sentence& s) const;
  void evaluate(const Sentence& s) const;
  size_t position(std::string_view text, size_t byte) const;
  static std::string marked(const Sentence& s, std::span<const Entity> entities);
  void write(const Record& record, const Sentence& s, Rows& rows) const;
  void write_rows(const Record& record, const Sentence& s, Rows& rows) const;
  void write_marked(const Record& record, const Sentence& s, Rows& rows) const;
  void write_columns(const Sentence& s, Rows& rows) const;
  void write_json(const Record& record, const Sentence& s, Rows& rows) const;
  void write_scores(const Sentence& s, JsonRow& json) const;
  void add_place(const Sentence& s, size_t begin, size_t end, JsonRow& json) const;

  const TokenClassifier& head_;
  TokenScorer scorer_;
  const TagScheme scheme_;
  const NerOptions ner_;
  size_t room_;  ///< tokens of text in a window
  EncodeOptions encode_;
  Encoding word_;
  std::vector<Sentence> sentences_;
};

}  // namespace bert
