#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
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

using SharedText = std::shared_ptr<const ScoredText>;

/// The texts used last, by their ids: corpora score several candidates beside one reference.
///
/// Thread rule: all may be called from many threads.
class BERT_API ScoredTextCache {
 public:
  /// `bytes`: the most that the vectors take.
  explicit ScoredTextCache(size_t bytes) : most_(bytes) {}
  /// nullptr: not there.
  SharedText find(std::span<const int32_t> ids);
  void keep(std::span<const int32_t> ids, SharedText text);

 private:
  struct Entry {
    std::string key;
    SharedText text;
  };

  std::mutex mutex_;
  const size_t most_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  ///< the one used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

/// Makes texts of BERTScore from sequences; one per thread.
class BERT_API ScoredTexts {
 public:
  /// Borrows all. `idf`: the weights; nullptr: 1, and 0 for the special tokens around a text.
  ScoredTexts(const VectorPredictor& predictor, VectorScratch& scratch, const TokenIdf* idf,
              ScoredTextCache& cache)
      : predictor_(predictor), scratch_(scratch), idf_(idf), cache_(cache) {}
  /// Texts 0 .. count - 1, one sequence each. The model reads those that the cache lacks.
  std::span<const SharedText> make(const Sequences& sequences, size_t count);

 private:
  double weight(int32_t id) const;
  SharedText text_of(const Encoding& encoding, ConstMatrix states) const;
  void read_new();

  const VectorPredictor& predictor_;
  VectorScratch& scratch_;
  const TokenIdf* idf_;
  ScoredTextCache& cache_;
  Sequences new_;  ///< sequences whose texts are not known yet
  std::vector<SharedText> texts_, new_texts_;
  std::vector<size_t> wait_;  ///< [texts] which of the new ones each is; SIZE_MAX: none
};

}  // namespace bert
