#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

/// Lower case, without ASCII punctuation and the articles a, an, the; blanks single: SQuAD's
/// normalize_answer.
std::string normalize_answer(std::string_view text);

/// F1 over the words of two normalised answers; 1 if both are empty, 0 if one is.
double word_f1(std::string_view gold, std::string_view predicted);

/// The true answers that a field holds: a JSON array of strings, else the field itself; empty: no
/// answer.
std::vector<std::string> gold_answers(std::string_view field);

/// Exact match and F1 as SQuAD's evaluation counts them: the best over the true answers of a
/// record.
///
/// Thread rule: add() may be called from many threads.
class BERT_API AnswerMetrics {
 public:
  void add(const std::vector<std::string>& gold, std::string_view predicted);
  double f1() const;  ///< in percent
  /// Lines `records N`, `exact_match P`, `f1 P`, in percent.
  std::string report() const;

 private:
  mutable std::mutex mutex_;
  uint64_t records_ = 0;
  uint64_t exact_ = 0;
  double f1_ = 0;
};

}  // namespace bert
