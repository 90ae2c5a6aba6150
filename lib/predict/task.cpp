#include "predict/task.h"

#include <algorithm>

namespace bert {
namespace {

/// In the order of TaskKind.
constexpr TaskSpec kTasks[] = {
    {.name = "feature-extraction", .head = HeadKind::vectors},
    {.name = "text-classification", .head = HeadKind::classify},
    {.name = "zero-shot-classification",
     .head = HeadKind::classify,
     .texts = 2,
     .truncation = Truncation::only_first},
    {.name = "token-classification", .head = HeadKind::tokens, .overflow = Overflow::window},
    // As in run_squad.py and transformers' pipeline.
    {.name = "question-answering",
     .head = HeadKind::spans,
     .texts = 2,
     .truncation = Truncation::only_second,
     .overflow = Overflow::window,
     .window = 384,
     .max_answer_length = 30},
    {.name = "fill-mask", .head = HeadKind::masked_lm},
    {.name = "next-sentence-prediction", .head = HeadKind::next_sentence, .texts = 2},
    {.name = "text-ranking", .head = HeadKind::classify, .texts = 2},
    {.name = "translation"},
    {.name = "zero-shot-token-classification",
     .head = HeadKind::open_entities,
     .overflow = Overflow::window},
};

}  // namespace

const TaskSpec& task_spec(TaskKind task) { return kTasks[static_cast<size_t>(task)]; }

const TaskSpec& task_spec(HeadKind head) {
  if (head == HeadKind::pretrain) head = HeadKind::masked_lm;
  const auto* found = std::find_if(std::begin(kTasks), std::end(kTasks),
                                   [&](const TaskSpec& task) { return task.head == head; });
  return found == std::end(kTasks) ? kTasks[0] : *found;
}

size_t TaskSpec::max_length(size_t positions, std::optional<size_t> own) const {
  return std::min({positions, own.value_or(positions), window});
}

}  // namespace bert
