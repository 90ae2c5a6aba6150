#pragma once

#include <memory>
#include <span>
#include <vector>

#include "seq2seq/search.h"

namespace bert {

/// One source of a search, and its hypotheses.
class SearchedSource {
 public:
  /// Hypothesis `row` of this source goes on with `token`.
  struct Next {
    size_t row = 0;
    int32_t token = 0;
  };
  explicit SearchedSource(size_t index) : index_(index) {}
  virtual ~SearchedSource() = default;

  size_t index() const { return index_; }  ///< number of the source
  /// Hypotheses that are stepped.
  virtual size_t rows() const = 0;
  /// The tokens of one of them, from the start token on.
  virtual std::span<const int32_t> tokens(size_t row) const = 0;
  /// How many candidates each row wants.
  virtual size_t wanted() const = 0;
  /// Takes the candidates [rows] of a step; the rows of the next one. None: the search is over.
  virtual std::vector<Next> advance(std::span<const std::vector<Candidates::One>> values) = 0;
  /// The best `count` targets.
  virtual std::vector<Target> targets(size_t count) const = 0;

 private:
  size_t index_;
};

/// num_beams 1: the best token at each step.
std::unique_ptr<SearchedSource> greedy_source(size_t index, const GenerationConfig& config,
                                              const TokenRules& rules);
/// The beam search of transformers 5 (generation/utils.py, _beam_search), for one source.
std::unique_ptr<SearchedSource> beam_source(size_t index, const GenerationConfig& config,
                                            const TokenRules& rules, size_t vocab_size);

}  // namespace bert
