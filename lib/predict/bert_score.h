#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/export.h"
#include "ops/matrix.h"
#include "predict/vectors.h"

namespace bert {

/// BERTScore (Zhang et al. 2020) of a candidate and a reference.
struct BertScore {
  double precision = 0, recall = 0, f1 = 0;

  /// The larger of each; NaN if one is.
  static BertScore best(const BertScore& a, const BertScore& b);
  /// (score - baseline) / (1 - baseline) of each.
  BertScore rescaled(const BertScore& baseline) const;
};

/// The baseline of a layer in a file of bert-score: lines LAYER,P,R,F below their names. Throws
/// Error(data) that names the file if it lacks the layer.
BERT_API BertScore read_baseline(const std::string& path, size_t layer);

/// How many texts have a token, and its weight: ln((texts + 1) / (texts with it + 1)).
///
/// Thread rule: add() may be called from many threads; weight() after it.
class BERT_API TokenIdf {
 public:
  void add(std::span<const int32_t> ids);
  double weight(int32_t id) const;

 private:
  std::mutex mutex_;
  std::unordered_map<int32_t, uint64_t> texts_with_;
  uint64_t texts_ = 0;
};

/// A text as BERTScore sees it.
struct ScoredText {
  std::vector<float> vectors = {};   ///< [n, D] of length 1
  std::vector<double> weights = {};  ///< [n]
  bool empty = true;                 ///< no token but special ones

  size_t tokens() const { return weights.size(); }
};

/// Precision: the weighted mean, over the candidate's tokens, of the largest cosine with a token of
/// the reference; recall: the same over the reference's. All 0 if a text is empty.
BERT_API BertScore bert_score(const ScoredText& candidate, const ScoredText& reference);

/// Makes texts of BERTScore from sequences; one per thread.
class BERT_API ScoredTexts {
 public:
  /// Borrows all. `idf`: the weights; nullptr: 1, and 0 for the special tokens around a text.
  ScoredTexts(const VectorPredictor& predictor, VectorScratch& scratch, const TokenIdf* idf)
      : predictor_(predictor), scratch_(scratch), idf_(idf) {}
  /// Texts 0 .. count - 1, one sequence each.
  std::span<const ScoredText> make(const Sequences& sequences, size_t count);

 private:
  double weight(int32_t id) const;

  const VectorPredictor& predictor_;
  VectorScratch& scratch_;
  const TokenIdf* idf_;
  std::vector<ScoredText> texts_;
};

}  // namespace bert
