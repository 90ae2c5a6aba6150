#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trainers/examples.h"

namespace bert {

/// Calls use(record) for each record of the files, with its texts chosen. Blank records at the end
/// of a file are passed over; returns how many.
size_t for_each_text_record(const ExampleOptions& options,
                            const std::function<void(const Record&)>& use);

/// The labels of the files in sorted order (numbers by value). Keeps the records until the examples
/// of the same files are read, as conll_labels() does.
std::vector<std::string> labels_of(const ExampleOptions& options, KeptRecords* kept = nullptr);
/// Labelled texts or pairs, one a line. Throws Error(data) naming the record.
ExampleSet read_texts(const ExampleOptions& options, const Tokenizer& tokenizer,
                      std::span<const std::string> labels, KeptRecords* kept = nullptr);

}  // namespace bert
