#pragma once

#include <functional>
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
  std::optional<double> scale = {};  ///< factor of the numbers in VectorFormat::i8

  /// Names of the columns of its rows; none if they are binary.
  BERT_API std::vector<std::string> columns(const VectorPlan& plan) const;
};

/// Gets each record of a pair with the cosine, once. Called by several threads.
using SimilaritySink = std::function<void(const Record& record, double similarity)>;

/// A worker that writes vectors; what they are of is a derived class's.
class BERT_API EmbedWorker : public TaskWorker {
 public:
  /// Borrows the predictor. The options are completed by what it reads. `sink`, of pairs, may be
  /// empty.
  static std::unique_ptr<Worker> make(const VectorPredictor& predictor, const EmbedRows& rows,
                                      const TaskOptions& options, const SimilaritySink& sink = {});
  EmbedWorker(const VectorPredictor& predictor, const EmbedRows& rows, const TaskOptions& options)
      : TaskWorker(predictor.tokenizer(), options),
        predictor_(predictor),
        rows_(rows),
        vectors_(predictor, reader_.options(), batcher_) {}

 protected:
  /// Reads the texts of all records, and their pairs.
  void read_all(std::span<const Record> records, bool pair = false);
  /// Writes a row with a `vector`, or, of a binary format, that alone.
  template <typename Row>
  void write_vector(const Record& record, const Row& row, Rows& rows,
                    Repeats repeats = Repeats::number);

  const VectorPredictor& predictor_;
  const EmbedRows rows_;
  VectorScratch vectors_;
  std::vector<std::string_view> texts_;  ///< [records] of the chunk
};

}  // namespace bert
