#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/export.h"
#include "checkpoint/weights.h"
#include "directory/static_files.h"

namespace bert {

/// The table of a model of static vectors (directory/static_files.h): for each token a row of
/// `width` numbers, times a factor of the token's own if the file has such.
///
/// Computed in float whatever the file's type is. Thread rule: const after open().
class BERT_API StaticVectors {
 public:
  /// `tokens`: how many ids the tokenizer has. Throws Error (no_input, data, unsupported) naming
  /// the file and tensor: each id must have a row.
  static StaticVectors open(const StaticFiles& files, size_t tokens);

  size_t width() const { return table_->shape[1]; }
  size_t rows() const { return table_->shape[0]; }  ///< several tokens may share one
  bool shared_rows() const { return !rows_of_.empty(); }
  DType dtype() const { return table_->dtype; }
  uint64_t parameters() const { return table_->elements() + factors_.size(); }
  const Weights& weights() const { return weights_; }

  /// The vector of a token. out [width]
  void vector(int32_t id, std::span<float> out) const;
  /// The mean of the tokens' vectors but for those of `left_out`; of none, zeros. out [width];
  /// scratch is resized.
  void mean(std::span<const int32_t> ids, int32_t left_out, std::span<float> out,
            std::vector<float>& scratch) const;

 private:
  explicit StaticVectors(Weights weights) : weights_(std::move(weights)) {}
  size_t row_of(int32_t id) const;
  void read_mapping(const TensorView& tensor, size_t tokens);

  Weights weights_;
  const TensorView* table_ = nullptr;  ///< [rows, width]
  std::vector<int32_t> rows_of_;       ///< [tokens]; empty: each token has the row of its id
  std::vector<float> factors_;         ///< [tokens]; empty: 1
};

}  // namespace bert
