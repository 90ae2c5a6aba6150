#include "trainers/examples.h"

#include <array>

#include "base/hash.h"
#include "base/random.h"

namespace bert {

uint64_t ExampleSet::hash() const {
  uint64_t hash = examples.size();
  const auto add = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    hash = mix(hash, xxh64({bytes, values.size() * sizeof values[0]}));
  };
  for (const Example& e : examples) {
    add(e.input_ids), add(e.token_type_ids), add(e.values), add(e.token_labels);
    add(std::array<int64_t, 4>{e.label, e.start, e.end, static_cast<int64_t>(e.origin)});
  }
  for (const std::vector<int32_t>& labels : sentences) add(labels);  // also of words without tokens
  for (const Question& question : questions) {
    add(question.context);
    for (const std::string& answer : question.answers) add(answer);
    hash = mix(hash, question.answers.size());
  }
  return hash;
}

uint64_t ExampleSet::taught_hash() const {
  uint64_t hash = examples.size();
  for (const Example& e : examples) {
    const auto* bytes = reinterpret_cast<const char*>(e.taught.data());
    hash = mix(hash, xxh64({bytes, e.taught.size() * sizeof(float)}));
  }
  return hash;
}

void ExampleSet::fill(std::span<const uint32_t> order, training::TrainingBatch& batch) const {
  batch.clear();
  batch.teacher_of_tokens = taught_tokens;
  for (const uint32_t index : order) {
    const Example& e = examples[index];
    batch.batch.append(e.input_ids, e.token_type_ids);
    batch.token_labels.insert(batch.token_labels.end(), e.token_labels.begin(),
                              e.token_labels.end());
    batch.values.insert(batch.values.end(), e.values.begin(), e.values.end());
    if (e.values.empty()) batch.sequence_labels.push_back(e.label);
    batch.teacher.insert(batch.teacher.end(), e.taught.begin(), e.taught.end());
    batch.starts.push_back(e.start);
    batch.ends.push_back(e.end);
  }
}

}  // namespace bert
