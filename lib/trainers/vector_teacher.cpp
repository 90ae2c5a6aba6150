#include "trainers/vector_teacher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/team.h"
#include "predict/embedder.h"

namespace bert {
namespace {

constexpr size_t kTexts = 256;  // read at once

}  // namespace

void ask_vector_teacher(const FinetuneOptions& options, size_t width, VectorExamples& examples) {
  TaskRequest request;
  request.task = task_spec(TaskKind::feature_extraction);
  request.directory = ModelDirectory::open(options.teacher);
  const OpenedModel opened(request, ModelsTaken::any);
  Embedder embedder(opened, SentenceModules::open(request.directory));
  const VectorPlan plan = embedder.plan({});
  const VectorPredictor& predictor = embedder.predictor(plan);
  if (predictor.width() != width) {
    throw Error::of_field(
        "teacher", fmt::format("gives vectors of {} numbers, wants {}", predictor.width(), width));
  }
  Team team(options.learner.threads);
  Batcher batcher(request.max_batch_tokens);
  batcher.use_team(&team);
  const ReadOptions reading = embedder.reading(embedder.prompt());
  VectorScratch scratch(predictor, reading, batcher);
  TextReader reader(embedder.tokenizer(), reading);
  Sequences sequences;
  examples.target_width = width;
  const std::vector<std::string> texts = std::exchange(examples.contents, {});
  for (size_t first = 0; first < texts.size(); first += kTexts) {
    const size_t count = std::min(kTexts, texts.size() - first);
    sequences.clear();
    for (size_t i = 0; i < count; ++i) reader.read({texts[first + i]}, i, sequences);
    const Matrix vectors = predictor.predict(sequences, count, scratch);
    for (size_t i = 0; i < count; ++i) {
      examples.targets.insert(examples.targets.end(), vectors.row(i), vectors.row(i) + width);
    }
  }
}

}  // namespace bert
