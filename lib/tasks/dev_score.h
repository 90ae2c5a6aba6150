#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/examples.h"
#include "training/learner.h"

namespace bert {

/// How well a model does on labelled examples; a higher value is better.
///   classify: accuracy; several labels: micro F1; numbers: Spearman's correlation
///   tokens: F1 of entities     spans: F1 of the answers' words (SQuAD)
struct DevScore {
  double loss = 0;
  std::string name;
  double value = 0;
};

DevScore score(training::Learner& learner, const ExampleSet& set, size_t head = 0);

/// F1 of the words of two answers, articles, punctuation and case aside, as SQuAD's script counts.
double answer_f1(std::string_view answer, std::string_view gold);

}  // namespace bert
