#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainers/examples.h"

namespace bert {

/// CoNLL columns: a word a line, its label in the last column, an empty line after each sentence;
/// -DOCSTART- and comments are passed over. A sentence that is too long becomes overlapping
/// windows; each word is learned where it has the most context.
std::vector<std::string> conll_labels(const ExampleOptions& options, KeptRecords* kept = nullptr);
ExampleSet read_conll(const ExampleOptions& options, const Tokenizer& tokenizer,
                      std::span<const std::string> labels, KeptRecords* kept = nullptr);

}  // namespace bert
