#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/export.h"
#include "rows/mlm_worker.h"

namespace bert {

/// Sums over records, by group.
struct BERT_API ScoreSummary {
  struct Part {
    uint64_t records = 0;
    uint64_t tokens = 0;
    uint64_t first_better = 0;
    uint64_t ties = 0;
    uint64_t other_better = 0;              ///< the first text, by the other model
    uint64_t own_only = 0, other_only = 0;  ///< pairs that one of both models has right
    OrderFreeSum pll;

    Part& operator+=(const Part& other);
    double accuracy() const;        ///< share of pairs whose first text scores higher
    double other_accuracy() const;  ///< the same of the other model
    /// exp(-PLL / tokens), the pseudo-perplexity of Salazar et al.; `nats` in the unit of the PLL.
    double perplexity(double nats) const;
  };
  std::map<std::string, Part> groups;
  double nats = 1;       ///< in the unit of the sums, ln of the base of their logarithm
  bool against = false;  ///< another model's choices are there, too
  UnknownCount unknown;  ///< scored tokens that are the unknown token

  ScoreSummary& operator+=(const ScoreSummary& other);
  Part total() const;
  /// The columns of the table.
  static std::vector<std::string> columns(bool pair, bool against);
  /// Rows "group pairs accuracy ties low high", the bounds being those of the accuracy's interval,
  /// with another model also "other own_only other_only p"; or "group records tokens pll
  /// perplexity", the total last.
  std::string table(bool pair, bool by_group) const;
  /// "GROUP: accuracy 0.912 of 1000 pairs", the total last.
  std::vector<std::string> accuracies(bool by_group) const;
  /// The table below the names of its columns.
  std::string report(bool pair, bool by_group) const;
  /// The table as a JSON object: `total` and, by group, the list `groups`.
  std::string json(bool pair, bool by_group) const;
  /// What it says of tokens that the vocabulary lacks; "" if there are none.
  std::string unknown_text() const;
};

}  // namespace bert
