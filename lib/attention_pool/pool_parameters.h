#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nn/attention_scores.h"
#include "ops/matrix.h"

namespace bert {

class OutputFile;

/// How attention over rows of one's own is computed.
struct PoolForm {
  nn::Score score = nn::Score::scaled_dot;
  size_t heads = 1;
  bool causal = false;         ///< query i sees keys 1 .. i
  bool leave_one_out = false;  ///< query i does not see key i
  bool positions = false;      ///< sinusoids are added to queries, keys, and values that are keys
};

/// The name of a score: "scaled-dot".
std::string_view score_name(nn::Score score);

/// A parameter of attention by its name; a vector has one row.
struct PoolTensor {
  std::string name;
  size_t rows = 0, cols = 0;
  std::vector<float> values;
  Matrix matrix() { return {values.data(), rows, cols}; }
};

/// The learned parameters of attention. Rows are vectors and matrices are [out, in], as in torch:
///
///   W_q [A, Dq]  W_k [A, Dk]   queries q W_q^T and keys k W_k^T; without them, as they are
///   W_v [B, Dv]                values v W_v^T; without it, as they are
///   W_o [O, B]                 the output, heads side by side, times W_o^T; without it, as it is
///   width [1]                  of gauss; without it 1
///   w_v [A]                    v of additive, concat and perceptron; without it ones
///   W [A, Dq + Dk]             of concat, instead of W_q and W_k
///   W1 [A, Dq + Dk], b1 [A]    of perceptron, instead of W_q and W_k
///
/// (Vaswani et al. 2017; nn/attention_scores.h has the scores.)
class PoolParameters {
 public:
  PoolParameters() = default;

  /// Reads a safetensors file. Throws Error that names the file and the tensor: an unknown name, a
  /// shape of another rank, a number that is not finite.
  static PoolParameters open(const std::string& path);
  /// Writes a safetensors file with the score and the heads as its metadata.
  void write(OutputFile& file, const PoolForm& form) const;

  /// What the file is for, as write() wrote it; empty: unknown.
  const std::string& score() const { return score_; }
  size_t heads() const { return heads_; }  ///< 0: unknown

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const PoolTensor* find(std::string_view name) const;
  PoolTensor& add(std::string_view name, size_t rows, size_t cols);
  std::vector<PoolTensor>& tensors() { return tensors_; }
  const std::vector<PoolTensor>& tensors() const { return tensors_; }
  size_t count() const;  ///< numbers in all tensors

  /// The names of the parameters that a score has, in the order of the table.
  static std::vector<std::string> names_of(nn::Score score);

 private:
  std::vector<PoolTensor> tensors_;
  std::string score_;
  size_t heads_ = 0;
};

/// Views of parameters, or of their gradients, by what they do.
struct PoolWeights {
  nn::LinearWeights query, key;  ///< the projections; concat's and perceptron's W in two
  Matrix value, output;
  float* v = nullptr;
  float* width = nullptr;

  /// `query_size`: Dq
  PoolWeights(PoolParameters& parameters, size_t query_size);
};

/// What messages call the files.
struct PoolNames {
  std::string queries, keys, values, parameters;
};

/// What the columns of queries must fit, for messages.
std::string queries_fit(const PoolParameters& parameters, const PoolNames& names);
/// "found 2 columns", for messages.
std::string found_columns(size_t count);

/// The sizes of one attention.
struct PoolSizes {
  size_t queries = 0, keys = 0, values = 0;  ///< Dq, Dk, Dv: columns as they come in
  size_t hidden = 0;                         ///< A: columns of queries and keys that are compared
  size_t mixed = 0;                          ///< B: columns of values that are summed
  size_t output = 0;                         ///< O

  /// Throws Error(data) that names the files and both sizes if they do not fit, Error(usage) for
  /// heads that do not divide them.
  static PoolSizes of(const PoolForm& form, const PoolParameters& parameters, size_t key_size,
                      size_t value_size, const PoolNames& names);
};

}  // namespace bert
