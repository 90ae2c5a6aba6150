#pragma once

#include <set>
#include <span>
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

/// An entity of a tagged sentence: words [begin, end) of one type.
struct EntitySpan {
  size_t begin = 0, end = 0;
  std::string_view type;
  auto operator<=>(const EntitySpan&) const = default;
};
/// The entities of tags in IOB, IOB2 or IOBES, by the rules of conlleval.
std::vector<EntitySpan> entities_of(std::span<const std::string_view> tags);

/// F1 of the words of two answers, articles, punctuation and case aside, as SQuAD's script counts.
double answer_f1(std::string_view answer, std::string_view gold);

}  // namespace bert
