#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainers/dev_measures.h"
#include "trainers/examples.h"
#include "training/bert_network.h"

namespace bert {

/// How well a model does on labelled examples.
struct DevScore {
  double loss = 0;
  double value = 0;                                     ///< nan where numbers do not vary
  std::string report;                                   ///< what the tool's own --gold would print
  std::map<std::string, double, std::less<>> measures;  ///< others, by their names
  std::vector<DevLine> lines;                           ///< only if the set has its texts

  /// The value of a measure in measures_of(); `usual` is the name of `value`.
  double measure(std::string_view name, std::string_view usual) const {
    return name == "loss" ? loss : name == usual ? value : measures.find(name)->second;
  }
};

/// Scores the examples as the tools do: their own choice of labels, entities and answers, and the
/// measure that their option for gold labels reports. A higher value is better.
///   classify: accuracy; several labels: micro F1; numbers: Spearman's correlation
///   tokens: F1 of entities
///   spans: F1 of the answers' words in percent (SQuAD); where a question has no answer, none is
///   found where its logit is above the best answer's
/// Over a quantized trunk the tools compute in whole numbers, this in float: there the two may
/// differ. `set` was read with ExampleOptions::scored.
DevScore score(training::BertLearner& learner, const ExampleSet& set, size_t head = 0);

}  // namespace bert
