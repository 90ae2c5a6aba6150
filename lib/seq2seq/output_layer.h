#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/export.h"
#include "ops/linear.h"
#include "ops/matrix.h"
#include "seq2seq/screen.h"

namespace bert {

/// The likeliest next tokens of M rows.
struct Candidates {
  struct One {
    float logit = 0;
    int32_t id = 0;
  };
  std::vector<std::vector<One>> rows;  ///< [M], best first; of equal logits the lowest id first
  std::vector<float> wanted;           ///< [M] logits of the tokens that were wanted
  std::vector<double> sums;            ///< [M] log(sum(exp(logits))), if it was asked for
};

/// What is asked of OutputLayer::best.
struct CandidateRequest {
  size_t count = 1;         ///< K: so many best tokens of each row
  bool sums = false;        ///< sums over the logits of all tokens are wanted, too
  bool banned_out = false;  ///< sums leave out what is banned
  /// [M] or empty: ids that a row may not have, in any order. They are no candidates.
  std::span<const std::vector<int32_t>> banned = {};
  std::span<const int32_t> wanted = {};  ///< [M] or empty: tokens whose logits are told
};

/// Buffers of one thread for OutputLayer, and of each thread of its team.
struct OutputScratch {
  struct Part {
    LinearScratch linear;
    Buffer logits;                                   ///< [M, columns of a block]
    std::vector<float> maxima;                       ///< the largest logits of a row's parts
    std::vector<std::vector<Candidates::One>> best;  ///< [M]
  };
  std::vector<Part> parts;
  std::vector<Screen::Part> screens;
  std::vector<double> largest, sums;  ///< [M, blocks]
  Team* team = nullptr;
};

/// The last layer of a model that writes tokens: logits = W h + b, where W [V, D] has a row for
/// each token of the vocabulary. It is computed in blocks of tokens, so that a search never has all
/// logits in memory. The bits of a row do not depend on the others or on the threads.
///
/// Thread rule: const; one scratch per thread.
class BERT_API OutputLayer {
 public:
  OutputLayer() = default;
  /// Borrows the weights. `bias` [V] may be empty.
  OutputLayer(WeightRef weight, std::vector<float> bias, Precision precision);

  size_t size() const { return size_; }    ///< V
  size_t width() const { return width_; }  ///< D
  /// hidden [M, D] -> logits [M, V]
  void logits(ConstMatrix hidden, Matrix logits, LinearScratch& scratch) const;
  /// The best tokens of each row of hidden [M, D]; logits that are NaN are none.
  void best(ConstMatrix hidden, const CandidateRequest& request, Candidates& found,
            OutputScratch& scratch) const;

 private:
  void run_block(size_t block, ConstMatrix hidden, const CandidateRequest& request,
                 Candidates& found, OutputScratch& scratch, OutputScratch::Part& part) const;
  void join(size_t parts, const CandidateRequest& request, Candidates& found,
            OutputScratch& scratch) const;

  /// Asks the screen; false if it has no answer for some row.
  bool best_by_screen(ConstMatrix hidden, const CandidateRequest& request, Candidates& found,
                      OutputScratch& scratch) const;

  size_t size_ = 0, width_ = 0;
  std::vector<Linear> blocks_;  ///< kColumns tokens in each
  std::vector<float> bias_;
  std::unique_ptr<const Screen> screen_;        ///< products of int8, on CPUs where it is faster
  std::unique_ptr<std::atomic<size_t>> asked_;  ///< rows that could have asked the screen
};

}  // namespace bert
