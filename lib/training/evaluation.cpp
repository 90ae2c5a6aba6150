#include "training/evaluation.h"

#include <atomic>
#include <exception>
#include <optional>
#include <vector>

#include "heads/classification.h"
#include "heads/question_answering.h"
#include "heads/token_classification.h"
#include "model/names.h"
#include "training/saving.h"

namespace bert::training {
namespace {

constexpr size_t kPartTokens = 512;

/// The learner's parameters under the names of a model file, with this head in use.
Checkpoint checkpoint_of(BertLearner& learner, const HeadPlan& head) {
  Config config = head.config;
  static_cast<HeadConfig&>(config) = head_config(head.config, head.objective);
  std::vector<TensorView> tensors;
  for (const Parameter& p : learner.layout().parameters()) {
    if (is_low_rank(p.name)) continue;
    TensorView& tensor = tensors.emplace_back();
    tensor.name = file_name(p.name, config);
    tensor.shape = p.shape;
    tensor.data = reinterpret_cast<const std::byte*>(learner.values() + p.offset);
  }
  Weights weights = Weights::of(std::move(tensors), config);
  weights.use_head(head.name);
  return {std::move(config), std::move(weights), head.name};
}

/// Some sequences of a batch, and their results.
struct Part {
  size_t first = 0, last = 0;  ///< sequences
  TrainingBatch batch;
  std::vector<float> logits;
  size_t columns = 0;
  Tally tally;
};

std::vector<Part> cut(const PackedBatch& batch) {
  std::vector<Part> parts;
  for (size_t first = 0, last = 0; first < batch.sequences(); first = last) {
    const auto& cu = batch.cu_seq_lens;
    do {
      ++last;
    } while (last < batch.sequences() && cu[last + 1] - cu[first] <= kPartTokens);
    parts.emplace_back();
    parts.back().first = first;
    parts.back().last = last;
  }
  return parts;
}

}  // namespace

struct Evaluation::State {
  const HeadPlan& plan;
  Team& team;
  Model model;
  ModelWeights weights;
  std::optional<Classifier> texts;
  std::optional<TokenClassifier> tokens;
  std::optional<QuestionAnswering> answers;
  struct Thread {
    Workspace workspace;
    std::unique_ptr<Head> head;
    std::optional<TokenScorer> tokens;
    std::exception_ptr failure;
    Thread(const HeadPlan& plan, const ModelWeights& weights) : head(Head::make(plan, weights)) {}
  };
  std::vector<std::unique_ptr<Thread>> threads;

  State(BertLearner& learner, const HeadPlan& head)
      : plan(head),
        team(learner.team()),
        model(Model::of(checkpoint_of(learner, head))),
        weights(ModelWeights::view(learner.layout(), learner.config(), learner.values(),
                                   head.prefix())) {
    if (head.objective == Objective::classify) texts = Classifier::open(model);
    if (head.objective == Objective::tokens) tokens = TokenClassifier::open(model);
    if (head.objective == Objective::spans) answers = QuestionAnswering::open(model);
    for (int i = 0; i < team.size(); ++i) {
      threads.push_back(std::make_unique<Thread>(plan, weights));
      if (tokens) threads.back()->tokens.emplace(*tokens);
    }
  }

  void compute(const TrainingBatch& all, bool wants_logits, Thread& thread, Part& part) const {
    slice(all, part.first, part.last, part.batch);
    const PackedBatch& batch = part.batch.batch;
    Workspace& workspace = thread.workspace;
    const Matrix hidden =
        model.forward(batch, workspace, tokens ? thread.tokens->options() : ForwardOptions());
    const ConstMatrix features = tokens ? thread.tokens->features(batch, hidden) : hidden;
    part.tally = thread.head->learn({part.batch, features});
    if (!wants_logits) return;
    const Matrix logits = texts    ? texts->logits(batch, hidden, workspace)
                          : tokens ? thread.tokens->logits(batch, hidden, workspace)
                                   : answers->logits(hidden, workspace);
    part.logits.assign(logits.data, logits.data + logits.rows * logits.cols);
    part.columns = logits.cols;
  }
};

Evaluation::Evaluation(BertLearner& learner, size_t head)
    : state_(std::make_unique<State>(learner, learner.heads()[head])) {}
Evaluation::~Evaluation() = default;

const Model& Evaluation::model() const { return state_->model; }

Tally Evaluation::run(const TrainingBatch& batch, const Use& use) {
  State& s = *state_;
  std::vector<Part> parts = cut(batch.batch);
  std::atomic<size_t> next{0};
  s.team.run([&](int index, int) {
    State::Thread& thread = *s.threads[static_cast<size_t>(index)];
    thread.failure = nullptr;
    try {
      for (size_t i; (i = next++) < parts.size();) {
        s.compute(batch, static_cast<bool>(use), thread, parts[i]);
      }
    } catch (...) {  // out of memory
      thread.failure = std::current_exception();
    }
  });
  for (const auto& thread : s.threads) {
    if (thread->failure) std::rethrow_exception(thread->failure);
  }
  Tally tally;
  for (const Part& part : parts) {
    tally += part.tally;
    if (!use) continue;
    use(part.first, part.batch.batch,
        ConstMatrix(part.logits.data(), part.logits.size() / part.columns, part.columns));
  }
  return tally;
}

}  // namespace bert::training
