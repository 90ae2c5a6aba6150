// The table of tasks, and what predict/ makes of texts.
#include <doctest/doctest.h>

#include "predict/task.h"

namespace bert {

TEST_CASE("a head's task has the name that model directories give it") {
  for (const HeadSpec& head : head_specs()) {
    if (head.tools.empty()) continue;
    CHECK(task_spec(head.kind).name == head.task);
    CHECK(task_spec(head.kind).head == head.kind);
  }
  CHECK(task_spec(TaskKind::question_answering).name == "question-answering");
  CHECK(task_spec(TaskKind::translation).name == "translation");
}

TEST_CASE("a sequence is as long as the model, its files and the task allow") {
  const TaskSpec& answers = task_spec(TaskKind::question_answering);
  CHECK(answers.max_length(512, {}) == answers.window);
  CHECK(answers.max_length(512, 100) == 100);
  CHECK(answers.max_length(64, 100) == 64);
  const TaskSpec& vectors = task_spec(TaskKind::feature_extraction);
  CHECK(vectors.max_length(512, {}) == 512);
  CHECK(vectors.max_length(512, 1024) == 512);
  CHECK(vectors.stride_within(512) == vectors.stride);
  CHECK(vectors.stride_within(9) == 4);
}

}  // namespace bert
