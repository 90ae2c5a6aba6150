#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "metrics/doubt.h"

namespace bert {

/// Relevance judgments by the names of query and text, as trec_eval's qrels: lines
/// QUERY 0 TEXT RELEVANCE.
class BERT_API Qrels {
 public:
  /// Throws Error(data) that names the file and the line that is none.
  static Qrels read(const std::string& path);
  /// The judgments of a query: relevance by text. Empty if it has none.
  const std::map<std::string, int64_t>& of(const std::string& query) const;

 private:
  std::map<std::string, std::map<std::string, int64_t>> queries_;
};

/// How well rankings agree with judgments: MRR, MAP, and nDCG, recall and precision of the first k,
/// each the mean over the queries, by the rules of trec_eval: a text is relevant from 1 on, one
/// that is not judged is not, a judged one that is not found counts as missed, nDCG's gain is the
/// relevance, and queries without a judgment are left out. Scores are floats; the order of equal
/// ones is that of the texts' names, the last first.
///
/// Thread rule: add() may be called from many threads; the report does not depend on the order.
class BERT_API RankMetrics {
 public:
  explicit RankMetrics(std::vector<size_t> cutoffs = {1, 5, 10}) : cutoffs_(std::move(cutoffs)) {}

  /// A text that was judged where it stands: `order` says which of equal scores is the last. A
  /// score that is NaN: it was not found.
  void add(const std::string& query, uint64_t order, double score, int64_t relevance);
  /// A text that was found and may have a judgment.
  void add(const std::string& query, const std::string& text, double score, const Qrels& qrels);

  /// Judges all texts that were added by their orders anew: qrels name them so, and the queries by
  /// 1, 2 .. in the order of their first texts.
  void judge(const Qrels& qrels);

  /// The mean of one measure, by its name in the report.
  double mean(std::string_view name) const;
  /// Lines `queries N`, then `NAME VALUE` for each measure.
  std::string report() const;
  std::string json(const Doubt& doubt = {}) const;
  /// Intervals of the measures, by bootstrap over the queries.
  Doubt doubt(const Resampling& how) const;

 private:
  struct Found {
    float score;
    std::string name;
    uint64_t order;
    int64_t relevance;
  };
  struct Query {
    std::vector<Found> found;
    std::vector<int64_t> relevant;  ///< relevances above 0 of all judged texts
    bool judged = false;
    uint64_t first = std::numeric_limits<uint64_t>::max();  ///< least order of a text
  };
  std::vector<double> measure(const Query& query) const;
  std::vector<std::string> names() const;
  /// The measures of each query that has a judgment.
  std::vector<std::vector<double>> all() const;
  static std::vector<double> means_of(const std::vector<std::vector<double>>& values,
                                      size_t measures);

  const std::vector<size_t> cutoffs_;
  mutable std::mutex mutex_;
  std::map<std::string, Query> queries_;
};

}  // namespace bert
