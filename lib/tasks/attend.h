#pragma once

#include <string>
#include <vector>

#include "tasks/task.h"

namespace bert {

struct AttendOptions {
  std::vector<size_t> layers;  ///< 1 .. L; not empty
  std::vector<size_t> heads;   ///< 1 .. A
  std::string from;            ///< only what tokens of this text look at; empty: all
  size_t most = 0;             ///< of each row only the largest weights; 0: all
};

/// The attention weights of each record: softmax(Q K^T / sqrt(D)) of each layer and head (Vaswani
/// et al. 2017), one row per pair of tokens, or with JSON one matrix [n, n] per layer and head.
/// They are computed in float, whatever the precision of the model.
class BERT_API AttendWorker : public TaskWorker {
 public:
  /// Throws Error(usage) for windows, of which each would have weights of its own.
  AttendWorker(const Tokenizer& tokenizer, const Model& model, const AttendOptions& attend,
               const TaskOptions& options);
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  void write_tokens(const Record& record, const Encoding& encoding, Rows& rows) const;
  void write_matrix(size_t layer, size_t head, ConstMatrix weights, Rows& rows) const;
  void write_rows(const Record& record, const Encoding& encoding, size_t layer, size_t head,
                  ConstMatrix weights, Rows& rows);

  const AttendOptions attend_;
  std::vector<size_t> order_;  ///< of the tokens that are looked at
};

}  // namespace bert
