#include "trainers/dev_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metrics/answer_metrics.h"
#include "metrics/entities.h"
#include "metrics/metrics.h"
#include "nn/loss.h"
#include "ops/kernels.h"
#include "predict/answers.h"
#include "predict/labels.h"
#include "training/evaluation.h"

namespace bert {
namespace {

using training::BertLearner;
using training::Evaluation;
using training::Objective;
using training::Tally;
using training::TrainingBatch;

/// Calls use(index, logits of the example) for all examples in order; returns the mean loss.
template <typename Use>
double for_each_prediction(Evaluation& evaluation, const ExampleSet& set, size_t head,
                           bool per_token, Use use) {
  constexpr size_t kExamples = 512;
  Tally tally;
  std::vector<uint32_t> order(set.examples.size());
  std::iota(order.begin(), order.end(), 0u);
  TrainingBatch batch;
  for (size_t first = 0; first < order.size(); first += kExamples) {
    const size_t count = std::min(kExamples, order.size() - first);
    set.fill(std::span(order).subspan(first, count), batch);
    batch.head = head;
    tally += evaluation.run(batch, [&](size_t part, const PackedBatch& packed, ConstMatrix logits) {
      for (size_t s = 0; s < packed.sequences(); ++s) {
        use(first + part + s,
            per_token ? logits.slice(packed.begin(s), packed.length(s)) : logits.slice(s, 1));
      }
    });
  }
  return tally.loss();
}

std::vector<size_t> gold_labels(const Example& example, bool several) {
  if (!several) return {static_cast<size_t>(example.label)};
  std::vector<size_t> ids;
  for (size_t i = 0; i < example.values.size(); ++i) {
    if (example.values[i] > 0) ids.push_back(i);
  }
  return ids;
}

DevScore score_texts(Evaluation& evaluation, const ExampleSet& set, size_t head_index) {
  const LabelPredictor predictor(evaluation.model(), LabelChoice{});
  const LabelPlan& plan = predictor.plan();
  LabelMetrics labels(plan.labels);
  ValueMetrics values;
  const LabelRule rule{.several = true};
  std::vector<float> scores;
  std::vector<size_t> order, chosen;
  DevScore result;
  result.loss = for_each_prediction(
      evaluation, set, head_index, false, [&](size_t index, ConstMatrix logits) {
        const Example& example = set.examples[index];
        scores.assign(logits.data, logits.data + logits.cols);
        predictor.head().normalize(Matrix(scores.data(), 1, scores.size()));
        if (plan.values) {
          values.add(index, static_cast<double>(example.values[0]), static_cast<double>(scores[0]));
          return;
        }
        choose_labels(plan, rule, scores, order, chosen);
        labels.add(gold_labels(example, plan.independent), chosen);
      });
  result.value = plan.values        ? values.spearman()
                 : plan.independent ? labels.micro_f1()
                                    : labels.accuracy();
  result.report = plan.values ? values.report() : labels.report();
  // Which label was said for another is known only where a text has one.
  if (!plan.values && !plan.independent) result.report += labels.confusions();
  return result;
}

/// The tags that the words of a sentence are given.
class SentenceTags {
 public:
  SentenceTags(const ExampleSet& set, const std::vector<std::string>& labels,
               EntityMetrics& metrics)
      : set_(set), labels_(labels), metrics_(metrics) {}

  void add(const Example& example, ConstMatrix logits) {
    while (sentence_ < example.origin) close();
    predicted_.resize(set_.sentences[sentence_].size(), "O");  // a word may have no token
    for (size_t t = 0, labelled = 0; t < logits.rows; ++t) {
      if (example.token_labels[t] == nn::kIgnored) continue;
      scores_.assign(logits.row(t), logits.row(t) + logits.cols);
      softmax(scores_);
      finite_ &= std::isfinite(scores_[0]);
      const auto best = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
      predicted_[static_cast<size_t>(example.words[labelled++])] =
          labels_[static_cast<size_t>(best)];
    }
  }
  void close_all() {
    while (sentence_ < set_.sentences.size()) close();
  }

 private:
  void close() {
    gold_.clear();
    for (const int32_t label : set_.sentences[sentence_]) {
      gold_.emplace_back(labels_[static_cast<size_t>(label)]);
    }
    if (!finite_) predicted_.clear();
    predicted_.resize(gold_.size(), "O");
    metrics_.add(gold_, predicted_);
    predicted_.clear();
    finite_ = true;
    ++sentence_;
  }

  const ExampleSet& set_;
  const std::vector<std::string>& labels_;
  EntityMetrics& metrics_;
  size_t sentence_ = 0;
  bool finite_ = true;
  std::vector<std::string_view> gold_, predicted_;
  std::vector<float> scores_;
};

DevScore score_entities(Evaluation& evaluation, const ExampleSet& set, size_t head) {
  const std::vector<std::string>& labels = evaluation.model().config().labels;
  EntityMetrics metrics(labels);
  SentenceTags tags(set, labels, metrics);
  DevScore result;
  result.loss = for_each_prediction(
      evaluation, set, head, true,
      [&](size_t index, ConstMatrix logits) { tags.add(set.examples[index], logits); });
  tags.close_all();
  result.value = metrics.f1();
  result.report = metrics.report();
  return result;
}

DevScore score_answers(Evaluation& evaluation, const ExampleSet& set, size_t head) {
  AnswerFinder finder(1, task_spec(TaskKind::question_answering).max_answer_length);
  AnswerMetrics metrics;
  const bool may_lack = std::any_of(set.questions.begin(), set.questions.end(),
                                    [](const Question& q) { return q.answers.empty(); });
  const auto margin = may_lack ? std::optional(0.0) : std::nullopt;
  std::vector<float> starts, ends;
  size_t window = 0;  // the question's first
  DevScore result;
  result.loss =
      for_each_prediction(evaluation, set, head, true, [&](size_t index, ConstMatrix logits) {
        for (size_t t = 0; t < logits.rows; ++t) {
          starts.push_back(logits.row(t)[0]);
          ends.push_back(logits.row(t)[1]);
        }
        const size_t origin = set.examples[index].origin, next = index + 1;
        if (next < set.examples.size() && set.examples[next].origin == origin) return;
        const Question& question = set.questions[origin];
        const Answers answers = finder.find(std::span(set.encodings).subspan(window, next - window),
                                            question.step, starts, ends, question.context);
        metrics.add(question.answers.empty() ? std::vector<std::string>{""} : question.answers,
                    best_answer(answers, question.context, margin));
        window = next;
        starts.clear(), ends.clear();
      });
  result.value = metrics.f1();
  result.report = metrics.report();
  return result;
}

}  // namespace

DevScore score(BertLearner& learner, const ExampleSet& set, size_t head) {
  Evaluation evaluation(learner, head);
  const Objective objective = learner.heads()[head].objective;
  if (objective == Objective::classify) return score_texts(evaluation, set, head);
  if (objective == Objective::tokens) return score_entities(evaluation, set, head);
  return score_answers(evaluation, set, head);
}

}  // namespace bert
