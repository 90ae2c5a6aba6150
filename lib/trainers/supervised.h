#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "trainers/examples.h"
#include "training/parameters.h"

namespace bert {

/// Sets config's labels and problem_type: `wanted` in this order, else the model's own where they
/// cover those that occur in the files, else those that occur, sorted. `kept` gets the records, for
/// read_examples(). Throws Error(data).
void set_labels(HeadKind task, const ExampleOptions& examples,
                const std::vector<std::string>& wanted, Config& config, KeptRecords* kept);

ExampleSet read_examples(HeadKind task, const ExampleOptions& from, const Tokenizer& tokenizer,
                         const std::vector<std::string>& labels, KeptRecords* kept = nullptr);

/// Clears the lists that the task does not use: they would be counted as sequences of it.
void trim(HeadKind task, training::TrainingBatch& batch);

/// The order of an epoch's examples: shuffled by seed and epoch alone.
std::vector<uint32_t> shuffled(size_t count, uint64_t seed, uint64_t epoch);

}  // namespace bert
