#include "tasks/dev_score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "heads/question_answering.h"
#include "tasks/entities.h"
#include "tasks/metrics.h"
#include "training/loss.h"

namespace bert {
namespace {

using training::Learner;
using training::Objective;
using training::Tally;
using training::TrainingBatch;

/// Calls use(example, logits of the example) for all examples in order; returns the losses.
template <typename Use>
Tally for_each_prediction(Learner& learner, const ExampleSet& set, size_t head, Use use) {
  constexpr size_t kExamples = 512;
  const bool per_token = learner.heads()[head].objective != Objective::classify;
  Tally tally;
  std::vector<uint32_t> order(set.examples.size());
  std::iota(order.begin(), order.end(), 0u);
  TrainingBatch batch;
  for (size_t first = 0; first < order.size(); first += kExamples) {
    const size_t count = std::min(kExamples, order.size() - first);
    set.fill(std::span(order).subspan(first, count), batch);
    batch.head = head;
    tally +=
        learner.predict(batch, [&](size_t part, const PackedBatch& packed, ConstMatrix logits) {
          for (size_t s = 0; s < packed.sequences(); ++s) {
            use(set.examples[first + part + s],
                per_token ? logits.slice(packed.begin(s), packed.length(s)) : logits.slice(s, 1));
          }
        });
  }
  return tally;
}

size_t best(const float* logits, size_t count) {
  return static_cast<size_t>(std::max_element(logits, logits + count) - logits);
}

double f1(double right, double predicted, double gold) {
  return predicted + gold > 0 ? 2 * right / (predicted + gold) : 0;
}

DevScore score_texts(Learner& learner, const ExampleSet& set, size_t head) {
  DevScore result;
  const std::string& problem = learner.heads()[head].config.problem_type;
  std::vector<double> gold, predicted;
  double right = 0, found = 0, wanted = 0;
  const Tally tally =
      for_each_prediction(learner, set, head, [&](const Example& e, ConstMatrix logits) {
        if (problem == "regression") {
          gold.push_back(static_cast<double>(e.values[0]));
          predicted.push_back(static_cast<double>(logits.data[0]));
        } else if (problem == "multi_label_classification") {
          for (size_t c = 0; c < logits.cols; ++c) {
            found += logits.data[c] > 0;
            wanted += e.values[c] > 0;
            right += logits.data[c] > 0 && e.values[c] > 0;
          }
        } else {
          right += best(logits.data, logits.cols) == static_cast<size_t>(e.label);
        }
      });
  result.loss = tally.loss();
  if (problem == "regression") {
    result.name = "spearman";
    result.value = pearson(ranks(gold), ranks(predicted));
    if (std::isnan(result.value)) result.value = -1;  // one value for all
  } else if (problem == "multi_label_classification") {
    result.name = "micro_f1";
    result.value = f1(right, found, wanted);
  } else {
    result.name = "accuracy";
    result.value = right / static_cast<double>(set.examples.size());
  }
  return result;
}

DevScore score_entities(Learner& learner, const ExampleSet& set, size_t head) {
  const std::vector<std::string>& labels = learner.heads()[head].config.labels;
  DevScore result;
  result.name = "entity_f1";
  std::vector<std::string_view> gold, predicted;  // tags of a sentence's words
  EntityMetrics metrics;
  size_t origin = 0;
  const auto close_sentence = [&] {
    metrics.add(gold, predicted);
    gold.clear();
    predicted.clear();
  };
  const Tally tally =
      for_each_prediction(learner, set, head, [&](const Example& e, ConstMatrix logits) {
        if (e.origin != origin) close_sentence();
        origin = e.origin;
        for (size_t t = 0; t < e.token_labels.size(); ++t) {
          if (e.token_labels[t] == training::kIgnored) continue;
          gold.push_back(labels[static_cast<size_t>(e.token_labels[t])]);
          predicted.push_back(labels[best(logits.row(t), logits.cols)]);
        }
      });
  close_sentence();
  result.loss = tally.loss();
  result.value = metrics.f1();
  return result;
}

DevScore score_answers(Learner& learner, const ExampleSet& set, size_t head) {
  struct Answer {
    std::string text;
    float score = -INFINITY, null_score = INFINITY;
  };
  std::vector<Answer> answers(set.questions.size());
  const bool may_lack = std::any_of(set.questions.begin(), set.questions.end(),
                                    [](const Question& q) { return q.answers.empty(); });
  std::vector<float> starts, ends;
  std::vector<uint8_t> allowed;
  const Tally tally =
      for_each_prediction(learner, set, head, [&](const Example& e, ConstMatrix logits) {
        Answer& answer = answers[e.origin];
        starts.clear(), ends.clear(), allowed.clear();
        for (size_t t = 0; t < logits.rows; ++t) {
          starts.push_back(logits.row(t)[0]);
          ends.push_back(logits.row(t)[1]);
          allowed.push_back(e.offsets[t].end > e.offsets[t].begin);
        }
        answer.null_score = std::min(answer.null_score, starts[0] + ends[0]);
        const std::vector<Span> spans = best_spans(starts, ends, allowed, 1, 30);
        if (spans.empty() || spans[0].score <= answer.score) return;
        answer.score = spans[0].score;
        const size_t begin = e.offsets[spans[0].start].begin, end = e.offsets[spans[0].end].end;
        answer.text = set.questions[e.origin].context.substr(begin, end - begin);
      });
  DevScore result{tally.loss(), "answer_f1", 0};
  for (size_t i = 0; i < answers.size(); ++i) {
    const bool none = may_lack && answers[i].null_score > answers[i].score;
    const std::vector<std::string>& golds = set.questions[i].answers;
    double top = golds.empty() && none ? 1 : 0;
    for (const std::string& gold : golds) {
      if (!none) top = std::max(top, answer_f1(answers[i].text, gold));
    }
    result.value += top / static_cast<double>(answers.size());
  }
  return result;
}

/// Words in lower case without punctuation and articles. ASCII, as SQuAD's script.
std::map<std::string, int> answer_words(std::string_view text) {
  std::map<std::string, int> words;
  std::string word;
  const auto close = [&] {
    if (!word.empty() && word != "a" && word != "an" && word != "the") ++words[word];
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte)) {
      close();
    } else if (!std::ispunct(byte)) {
      word += static_cast<char>(std::tolower(byte));
    }
  }
  close();
  return words;
}

}  // namespace

double answer_f1(std::string_view answer, std::string_view gold) {
  const auto a = answer_words(answer), b = answer_words(gold);
  int common = 0, total_a = 0, total_b = 0;
  for (const auto& [word, count] : a) {
    total_a += count;
    if (const auto found = b.find(word); found != b.end()) common += std::min(count, found->second);
  }
  for (const auto& [word, count] : b) total_b += count;
  if (total_a == 0 || total_b == 0) return total_a == total_b;
  return f1(common, total_a, total_b);
}

DevScore score(Learner& learner, const ExampleSet& set, size_t head) {
  const Objective objective = learner.heads()[head].objective;
  if (objective == Objective::classify) return score_texts(learner, set, head);
  if (objective == Objective::tokens) return score_entities(learner, set, head);
  return score_answers(learner, set, head);
}

}  // namespace bert
