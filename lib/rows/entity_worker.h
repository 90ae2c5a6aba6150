#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/conll.h"
#include "predict/worded_text.h"
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

/// How records become entities, and these rows.
struct EntityRows {
  NerInput input = NerInput::text;
  NerOutput output = NerOutput::rows;
  bool gold = false;    ///< the last of the input's columns is the true label
  bool nested = false;  ///< an entity may lie in another
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

/// Writes the entities of each record, which a worker that derives from it finds.
class BERT_API EntityWorker : public TaskWorker {
 public:
  void run(std::span<const Record> records, Rows& rows) override;

 protected:
  EntityWorker(const Tokenizer& tokenizer, const EntityRows& shape, const TaskOptions& options,
               TagSink sink)
      : TaskWorker(tokenizer, options), shape_(shape), sink_(std::move(sink)) {}

  // Of the texts of a chunk, by their index:
  virtual void make_texts(size_t count) = 0;
  virtual WordedText& text(size_t i) = 0;
  const WordedText& text(size_t i) const { return const_cast<EntityWorker*>(this)->text(i); }
  /// Reads the text, whose words are set, into sequences_.
  virtual void read(const Record& record, size_t i) = 0;
  virtual void predict(size_t count) = 0;
  /// False: a score is no number.
  virtual bool choose(size_t i) = 0;
  virtual std::vector<Entity> entities(size_t i) const = 0;
  /// The tags of its words.
  virtual std::vector<std::string_view> tags(size_t i) const = 0;
  /// The bytes that are shown of a word.
  virtual Offset shown_word(size_t i, size_t word) const = 0;
  virtual void add_scores(size_t /*i*/, JsonRow& /*json*/) const {}

  size_t position(std::string_view text, size_t byte) const;
  /// The lines of a record in columns, one for each word.
  const std::vector<ConllLine>& lines(size_t i) const { return sentences_[i].lines; }

 private:
  /// A record and what becomes of it.
  struct Sentence {
    std::string joined;            ///< the words of columns with blanks between
    std::vector<ConllLine> lines;  ///< lines of columns
  };

  void find_words(const Record& record, size_t i);
  void split_columns(const Record& record, size_t i);
  void evaluate(size_t i) const;
  EntityRow row_of(std::string_view text, const Entity& entity) const;
  std::string marked(std::string_view text, std::vector<Entity> entities) const;
  void write_entities(const Record& record, size_t i, Rows& rows) const;
  void write_columns(size_t i, Rows& rows) const;
  void write_json(const Record& record, size_t i, Rows& rows) const;

  const EntityRows shape_;
  const TagSink sink_;
  std::vector<Sentence> sentences_;  ///< records of the chunk
};

}  // namespace bert
