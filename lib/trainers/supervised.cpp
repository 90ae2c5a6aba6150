#include "trainers/supervised.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "trainers/conll_examples.h"
#include "trainers/example_records.h"
#include "trainers/question_examples.h"
#include "trainers/text_examples.h"

namespace bert {

namespace {

/// The model's own labels where they cover those that occur; else these.
std::vector<std::string> choose_labels(const Config& config, const std::vector<std::string>& wanted,
                                       std::vector<std::string> found) {
  if (!wanted.empty()) return wanted;
  const bool known =
      config.labels_named && std::all_of(found.begin(), found.end(), [&](const std::string& label) {
        return std::find(config.labels.begin(), config.labels.end(), label) != config.labels.end();
      });
  return known ? config.labels : found;
}

}  // namespace

void set_labels(HeadKind task, const ExampleOptions& examples,
                const std::vector<std::string>& wanted, Config& config, KeptRecords* kept) {
  if (task == HeadKind::spans) return;
  if (task == HeadKind::classify) {
    constexpr const char* kProblems[] = {"single_label_classification",
                                         "multi_label_classification", "regression"};
    config.problem_type = kProblems[static_cast<size_t>(examples.kind)];
  }
  if (examples.kind == LabelKind::number && task == HeadKind::classify) {
    if (config.labels.size() != 1) config.labels = {"value"};  // else the head goes on
    return;
  }
  for (auto label = wanted.begin(); label != wanted.end(); ++label) {
    if (label->empty()) throw Error(Error::Kind::usage, "labels", "found an empty one");
    check_label(*label, [](const std::string& what) {
      throw Error(Error::Kind::usage, "labels", "found" + what);
    });
    if (std::find(wanted.begin(), label, *label) == label) continue;
    throw Error(Error::Kind::usage, "labels", fmt::format("found '{}' twice", printable(*label)));
  }
  const bool ner = task == HeadKind::tokens;
  std::vector<std::string> found = ner ? conll_labels(examples, kept) : labels_of(examples, kept);
  if (found.empty() || (found.size() < 2 && examples.kind == LabelKind::one)) {
    const std::string file = examples.files.empty() ? "-" : examples.files.front();
    throw Error(Error::Kind::data, file,
                found.empty() ? "has no examples to learn from"
                              : fmt::format("has only the label '{}': nothing can be learned",
                                            printable(found.front())));
  }
  config.labels = choose_labels(config, wanted, std::move(found));
}

ExampleSet read_examples(HeadKind task, const ExampleOptions& from, const Tokenizer& tokenizer,
                         const std::vector<std::string>& labels, KeptRecords* kept) {
  switch (task) {
    case HeadKind::classify:
      return read_texts(from, tokenizer, labels, kept);
    case HeadKind::tokens:
      return read_conll(from, tokenizer, labels, kept);
    default:
      return read_questions(from, tokenizer);
  }
}

void trim(HeadKind task, training::TrainingBatch& batch) {
  if (task != HeadKind::classify) batch.sequence_labels.clear();
  if (task != HeadKind::spans) batch.starts.clear(), batch.ends.clear();
}

std::vector<uint32_t> shuffled(size_t count, uint64_t seed, uint64_t epoch) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const uint64_t key = mix(mix(seed, 0x5EED), epoch);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[mix(key, i) % i]);
  return order;
}

}  // namespace bert
