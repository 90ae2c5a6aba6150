#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "predict/token_vectors.h"
#include "predict/vectors.h"
#include "rows/task_worker.h"
#include "rows/vector_format.h"

namespace bert {

/// What `embed` writes of a record: the vector of its text, the cosine of its pair, or a row for
/// each of its tokens, words, or spans (its first extra field).
struct EmbedRows {
  enum class Of { text, pair, tokens, words, spans };
  Of of = Of::text;
  VectorFormat format = VectorFormat::tsv;
  std::optional<double> scale = {};  ///< of VectorFormat::i8
};

/// A worker that writes vectors; what they are of is a derived class's.
class BERT_API EmbedWorker : public TaskWorker {
 public:
  /// Borrows the predictor. The options are completed by what it reads.
  static std::unique_ptr<Worker> make(const VectorPredictor& predictor, const EmbedRows& rows,
                                      const TaskOptions& options);
  EmbedWorker(const VectorPredictor& predictor, const EmbedRows& rows, const TaskOptions& options)
      : TaskWorker(predictor.tokenizer(), options),
        predictor_(predictor),
        rows_(rows),
        vectors_(predictor, reader_.options(), batcher_) {}

 protected:
  /// Reads the texts of all records, and their pairs.
  void read_all(std::span<const Record> records, bool pair = false);
  /// A row: what `members` adds to the object, or `fields` to the row, and the vector.
  template <typename Members, typename Fields>
  void write(const Record& record, std::span<const float> vector, Rows& rows, Members members,
             Fields fields);

  const VectorPredictor& predictor_;
  const EmbedRows rows_;
  VectorScratch vectors_;
  std::vector<std::string_view> texts_;  ///< [records] of the chunk

 private:
  void write_numbers(const Record& record, std::span<const float> vector, Rows& rows) const;
};

}  // namespace bert
