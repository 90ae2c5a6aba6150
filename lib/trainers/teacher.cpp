#include "trainers/teacher.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "trainers/supervised.h"
#include "trainers/training_job.h"
#include "training/evaluation.h"

namespace bert {
namespace {

/// Where each of the student's labels stands among the teacher's.
std::vector<size_t> columns_of(const Config& student, const Config& teacher, HeadKind task) {
  std::vector<size_t> columns;
  if (task == HeadKind::spans) return {0, 1};
  for (const std::string& label : student.labels) {
    const auto found = std::find(teacher.labels.begin(), teacher.labels.end(), label);
    if (found == teacher.labels.end() || teacher.labels.size() != student.labels.size()) {
      throw Error::of_field(
          "teacher", fmt::format("has the labels {}, wants {}", fmt::join(teacher.labels, ", "),
                                 fmt::join(student.labels, ", ")));
    }
    columns.push_back(static_cast<size_t>(found - teacher.labels.begin()));
  }
  return columns;
}

void check_tokenizer(const Tokenizer& tokenizer, const Tokenizer& other) {
  bool same = tokenizer.vocab_size() == other.vocab_size();
  for (size_t id = 0; same && id < tokenizer.vocab_size(); ++id) {
    same = tokenizer.token(static_cast<int32_t>(id)) == other.token(static_cast<int32_t>(id));
  }
  if (!same) throw Error::of_field("teacher", "has another vocabulary than the model");
}

std::unique_ptr<training::BertLearner> open_teacher(const FinetuneOptions& options,
                                                    const ModelDirectory& directory,
                                                    std::vector<size_t>& columns,
                                                    const Config& student) {
  Checkpoint checkpoint = open_start(directory, "", options.task);
  training::require_trainable(checkpoint.config, options.task);
  training::HeadPlan head;
  head.objective = options.task;
  columns = columns_of(student, checkpoint.config, options.task);
  head.config = std::move(checkpoint.config);
  if (options.task == HeadKind::classify) {
    head.config.problem_type = "single_label_classification";
  }
  training::LearnerOptions plain;
  plain.threads = options.learner.threads;
  auto learner = std::make_unique<training::BertLearner>(std::vector{std::move(head)}, plain);
  const auto drawn =
      training::load_parameters(learner->layout(), checkpoint.weights, 0, 0, learner->values());
  if (!drawn.empty()) {
    throw Error::of_field("teacher", fmt::format("lacks {}: it was not trained for this task",
                                                 fmt::join(drawn, ", ")));
  }
  return learner;
}

}  // namespace

void ask_teacher(const FinetuneOptions& options, const Config& student, const Tokenizer& tokenizer,
                 ExampleSet& set) {
  constexpr size_t kExamples = 512;
  const ModelDirectory directory = ModelDirectory::open(options.teacher);
  check_tokenizer(tokenizer, Tokenizer::open(directory));
  std::vector<size_t> columns;
  const auto learner = open_teacher(options, directory, columns, student);
  training::Evaluation evaluation(*learner);
  std::vector<uint32_t> order(set.examples.size());
  std::iota(order.begin(), order.end(), 0u);
  const bool per_token = options.task != HeadKind::classify;
  training::TrainingBatch batch;
  for (size_t first = 0; first < order.size(); first += kExamples) {
    set.fill(std::span(order).subspan(first, std::min(kExamples, order.size() - first)), batch);
    trim(options.task, batch);
    evaluation.run(batch, [&](size_t part, const PackedBatch& packed, ConstMatrix logits) {
      for (size_t s = 0; s < packed.sequences(); ++s) {
        const ConstMatrix own =
            per_token ? logits.slice(packed.begin(s), packed.length(s)) : logits.slice(s, 1);
        std::vector<float>& taught = set.examples[first + part + s].taught;
        for (size_t r = 0; r < own.rows; ++r) {
          for (const size_t column : columns) taught.push_back(own.row(r)[column]);
        }
      }
    });
  }
  set.taught_tokens = per_token;
}

}  // namespace bert
