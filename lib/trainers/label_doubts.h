#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trainers/examples.h"

namespace bert {

/// How many texts, or words, have each label.
struct LabelUse {
  std::span<const std::string> labels;
  std::vector<size_t> train;  ///< [labels]
  std::vector<size_t> dev;    ///< [labels]; empty: there are no dev examples
  size_t texts = 0;           ///< training texts; 0 if words are labelled
};

/// Whether at least half of the texts have a label of their own, as texts in the field of the label
/// would. Few labels say nothing.
bool may_be_texts(const LabelUse& use);

/// A sentence for each sign that the labels are not what the user meant: labels that differ only in
/// case or blanks, labels that only the dev examples have, texts in the column of the labels, and
/// several labels in one, or separated by other signs than commas.
std::vector<std::string> label_doubts(const LabelUse& use, LabelKind kind);

}  // namespace bert
