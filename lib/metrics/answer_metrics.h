#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "metrics/doubt.h"

namespace bert {

/// SQuAD's normalize_answer: lower case, no ASCII punctuation, no articles (a, an, the), single
/// blanks between words.
std::string normalize_answer(std::string_view text);

/// F1 over the words of two normalised answers; 1 if both are empty, 0 if only one is.
double word_f1(std::string_view gold, std::string_view predicted);

/// The gold answers in a field: a JSON array of strings, else the field itself; an empty string
/// means that there is no answer.
BERT_API std::vector<std::string> gold_answers(std::string_view field);

/// Exact match and F1 as in SQuAD's evaluation: each record counts with its best gold answer.
///
/// Thread rule: add() may be called from many threads.
class BERT_API AnswerMetrics {
 public:
  void add(const std::vector<std::string>& gold, std::string_view predicted);
  double f1() const;  ///< in percent
  /// Lines `records N`, `exact_match P`, `f1 P`, in percent.
  std::string report() const;
  std::string json(const Doubt& doubt = {}) const;  ///< the same as a JSON object
  Doubt doubt(const Resampling& how) const;         ///< the intervals of both

 private:
  mutable std::mutex mutex_;
  uint64_t records_ = 0;
  uint64_t exact_ = 0;
  double f1_ = 0;
  std::map<double, uint64_t> f1s_;  ///< records of each F1
};

}  // namespace bert
