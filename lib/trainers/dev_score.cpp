#include "trainers/dev_score.h"

#include <fmt/format.h>

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

/// The loss of one text's logits, without class weights.
double loss_of(const Example& example, bool values, ConstMatrix logits) {
  std::vector<float> kept(logits.data, logits.data + logits.cols);
  const Matrix row(kept.data(), 1, kept.size());
  const ConstMatrix targets(example.values.data(), 1, example.values.size());
  if (values) return nn::squared_error(row, targets, 1);
  if (!example.values.empty()) return nn::binary_cross_entropy(row, targets, 1);
  return nn::cross_entropy(row, {&example.label, 1}, {}, 1);
}

std::string names_of(std::span<const size_t> ids, const std::vector<std::string>& labels) {
  std::string names;
  for (const size_t id : ids) names += (names.empty() ? "" : ",") + labels[id];
  return names;
}

void set_measures(const LabelPlan& plan, const LabelMetrics& labels, const ValueMetrics& values,
                  DevScore& result) {
  result.value = plan.values        ? values.spearman()
                 : plan.independent ? labels.micro_f1()
                                    : labels.accuracy();
  result.report = plan.values ? values.report() : labels.report();
  // Which label was said for another is known only where a text has one.
  if (!plan.values && !plan.independent) result.report += labels.confusions();
  result.measures["macro_f1"] = labels.macro_f1();
  result.measures["mcc"] = labels.mcc();
  result.measures["accuracy"] = labels.accuracy();
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
        DevLine line{0, example.origin, {}, {}};
        if (plan.values) {
          const double gold = static_cast<double>(example.values[0]);
          const double said = static_cast<double>(scores[0]);
          values.add(index, gold, said);
          line.truth = number_text(gold), line.predicted = number_text(said);
        } else {
          choose_labels(plan, rule, scores, order, chosen);
          const std::vector<size_t> gold = gold_labels(example, plan.independent);
          labels.add(gold, chosen);
          std::sort(chosen.begin(), chosen.end());
          line.truth = names_of(gold, plan.labels), line.predicted = names_of(chosen, plan.labels);
        }
        if (set.texts.empty()) return;
        line.loss = loss_of(example, plan.values, logits);
        result.lines.push_back(std::move(line));
      });
  set_measures(plan, labels, values, result);
  return result;
}

/// The tags that the words of a sentence are given.
class SentenceTags {
 public:
  SentenceTags(const ExampleSet& set, const std::vector<std::string>& labels,
               EntityMetrics& metrics, DevScore& result)
      : set_(set), labels_(labels), metrics_(metrics), result_(result) {}

  void add(const Example& example, ConstMatrix logits) {
    while (sentence_ < example.origin) close();
    if (!set_.texts.empty()) add_loss(example, logits);
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
    result_.measures["accuracy"] = words_ > 0 ? right_ / words_ : 0;
  }

 private:
  void add_loss(const Example& example, ConstMatrix logits) {
    scores_.assign(logits.data, logits.data + logits.rows * logits.cols);
    const Matrix rows(scores_.data(), logits.rows, logits.cols);
    loss_ += nn::cross_entropy(rows, example.token_labels, {}, 1);
    for (const int32_t label : example.token_labels) labelled_ += label != nn::kIgnored;
  }

  void close() {
    gold_.clear();
    for (const int32_t label : set_.sentences[sentence_]) {
      gold_.emplace_back(labels_[static_cast<size_t>(label)]);
    }
    if (!finite_) predicted_.clear();
    predicted_.resize(gold_.size(), "O");
    metrics_.add(gold_, predicted_);
    for (size_t w = 0; w < gold_.size(); ++w, ++words_) right_ += gold_[w] == predicted_[w];
    if (!set_.texts.empty()) {
      result_.lines.push_back({labelled_ > 0 ? loss_ / labelled_ : 0, sentence_,
                               fmt::format("{}", fmt::join(gold_, " ")),
                               fmt::format("{}", fmt::join(predicted_, " "))});
    }
    loss_ = labelled_ = 0;
    predicted_.clear();
    finite_ = true;
    ++sentence_;
  }

  const ExampleSet& set_;
  const std::vector<std::string>& labels_;
  EntityMetrics& metrics_;
  DevScore& result_;
  double loss_ = 0, labelled_ = 0;  ///< sums over this sentence
  double words_ = 0, right_ = 0;
  size_t sentence_ = 0;
  bool finite_ = true;
  std::vector<std::string_view> gold_, predicted_;
  std::vector<float> scores_;
};

DevScore score_entities(Evaluation& evaluation, const ExampleSet& set, size_t head) {
  const std::vector<std::string>& labels = evaluation.model().config().labels;
  EntityMetrics metrics(labels);
  DevScore result;
  SentenceTags tags(set, labels, metrics, result);
  result.loss = for_each_prediction(
      evaluation, set, head, true,
      [&](size_t index, ConstMatrix logits) { tags.add(set.examples[index], logits); });
  tags.close_all();
  result.value = metrics.f1();
  result.report = metrics.report();
  return result;
}

/// The mean loss of start and end in one window.
double loss_of_span(const Example& example, ConstMatrix logits) {
  double loss = 0;
  for (const size_t which : {0, 1}) {
    std::vector<float> column;
    for (size_t t = 0; t < logits.rows; ++t) column.push_back(logits.row(t)[which]);
    const int32_t label = which == 0 ? example.start : example.end;
    loss += nn::cross_entropy({column.data(), 1, column.size()}, {&label, 1}, {}, 0) / 2;
  }
  return loss;
}

DevScore score_answers(Evaluation& evaluation, const ExampleSet& set, size_t head) {
  AnswerFinder finder(1, task_spec(TaskKind::question_answering).max_answer_length);
  AnswerMetrics metrics;
  const bool may_lack = std::any_of(set.questions.begin(), set.questions.end(),
                                    [](const Question& q) { return q.answers.empty(); });
  const auto margin = may_lack ? std::optional(0.0) : std::nullopt;
  std::vector<float> starts, ends;
  size_t window = 0;  // the question's first
  double loss = 0;    // of its windows
  DevScore result;
  result.loss =
      for_each_prediction(evaluation, set, head, true, [&](size_t index, ConstMatrix logits) {
        for (size_t t = 0; t < logits.rows; ++t) {
          starts.push_back(logits.row(t)[0]);
          ends.push_back(logits.row(t)[1]);
        }
        if (!set.texts.empty()) loss += loss_of_span(set.examples[index], logits);
        const size_t origin = set.examples[index].origin, next = index + 1;
        if (next < set.examples.size() && set.examples[next].origin == origin) return;
        const Question& question = set.questions[origin];
        const Answers answers = finder.find(std::span(set.encodings).subspan(window, next - window),
                                            question.step, starts, ends, question.context);
        const std::vector<std::string> golds =
            question.answers.empty() ? std::vector<std::string>{""} : question.answers;
        const auto said = best_answer(answers, question.context, margin);
        metrics.add(golds, said);
        if (!set.texts.empty()) {
          result.lines.push_back({loss / static_cast<double>(next - window), origin, golds.front(),
                                  std::string(said)});
        }
        loss = 0;
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
