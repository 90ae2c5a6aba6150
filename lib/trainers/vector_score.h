#pragma once

#include <string>
#include <vector>

#include "nn/vector_loss.h"
#include "ops/matrix.h"
#include "trainers/vector_examples.h"

namespace bert {

/// The name of what vector_score() gives.
std::string vector_metric(nn::VectorLoss loss);

/// How well vectors [records C, D] of dev records do; a higher value is better. `report` gets a
/// line for each measure.
///   ranking        MRR at 10 of each first text's own among all other texts
///   cosent, cosine Spearman's correlation of the pairs' cosines with the targets; nan if none
///   triplet        the share whose second text is nearer than the third
///   teacher        the mean cosine with the teacher's vectors
double vector_score(nn::VectorLoss loss, const VectorExamples& examples, ConstMatrix vectors,
                    std::string& report);

/// The ranking score of vectors of tokens, by MaxSim.
class TokenScore {
 public:
  explicit TokenScore(const VectorExamples& examples) : examples_(examples) {}
  /// The vectors [n, D] of the next text.
  void add(ConstMatrix vectors);
  double value(std::string& report);

 private:
  const VectorExamples& examples_;
  size_t width_ = 0;
  std::vector<float> vectors_;
  std::vector<size_t> ends_{0};
};

}  // namespace bert
