#include "predict/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/kernels.h"

namespace bert {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Index of the first label that begins with `prefix`, whatever its case.
std::optional<size_t> find_label(const std::vector<std::string>& labels, std::string_view prefix) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (lower(labels[i]).starts_with(prefix)) return i;
  }
  return std::nullopt;
}

std::string list(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  return printable(text);
}

[[noreturn]] void refuse(std::string_view field, const std::string& what) {
  throw Error::of_field(field, what);
}

/// Rows name labels, so two of one name, or none, would be told apart by nothing.
void require_different(const Classifier& head) {
  std::vector<std::string> names = head.labels();
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end() && !names.front().empty()) return;
  throw Error(Error::Kind::data, head.config_path(),
              fmt::format("{}; `names` gives the labels other names",
                          twice == names.end()
                              ? "id2label has a label without a name"
                              : fmt::format("id2label has two labels '{}'", printable(*twice))));
}

/// Makes the plan one of zero-shot by a head of natural language inference.
void add_hypotheses(const std::vector<std::string>& own, const LabelChoice& choice,
                    LabelPlan& plan) {
  const std::optional<size_t> entailment = find_label(own, "entail");
  if (!entailment) {
    refuse(
        "candidates",
        fmt::format("candidates want a model with a label 'entailment' or a masked-LM head, this "
                    "one has {}; `names` gives these other names",
                    list(own)));
  }
  if (choice.logits) refuse("logits", "not with `candidates`: candidates have no logits");
  if (choice.calibrate) refuse("calibrate", "wants candidates that a masked-LM head weighs");
  for (const std::string& name : choice.candidates) {
    plan.hypotheses.push_back(choice.hypothesis(name));
  }
  plan.labels = choice.candidates;
  plan.entailment = *entailment;
  // Without such a name, the label at the other end, as in the reference.
  plan.contradiction =
      find_label(own, "contradict").value_or(*entailment == 0 ? own.size() - 1 : 0);
  plan.values = false;
  plan.independent = choice.independent || choice.candidates.size() == 1;
}

}  // namespace

std::string LabelChoice::hypothesis(const std::string& candidate) const {
  std::string text = hypothesis_template.empty() ? "This example is {}." : hypothesis_template;
  const size_t hole = text.find("{}");
  if (hole == std::string::npos) refuse("hypothesis_template", "wants {} where the label goes");
  return text.replace(hole, 2, candidate);
}

bool names_entailment(const std::vector<std::string>& labels) {
  return find_label(labels, "entail").has_value();
}

LabelPlan LabelPlan::of_candidates(const LabelChoice& choice) {
  if (!choice.names.empty()) refuse("names", "not with `candidates`, which are names already");
  if (choice.logits) refuse("logits", "not with `candidates`: candidates have no logits");
  if (choice.independent) refuse("independent", "wants a model of natural language inference");
  if (choice.candidates.size() < 2) refuse("candidates", "found one candidate, wants two or more");
  LabelPlan plan;
  plan.labels = choice.candidates;
  return plan;
}

LabelPlan LabelPlan::of(const Classifier& head, bool logits) {
  LabelPlan plan;
  plan.logits = logits;
  plan.labels = head.labels();
  plan.values = head.normalization() == Normalization::none;
  plan.independent = head.normalization() == Normalization::sigmoid && plan.labels.size() > 1;
  return plan;
}

LabelPlan LabelPlan::make(const Classifier& head, const LabelChoice& choice) {
  LabelPlan plan = of(head, choice.logits);
  if (!choice.candidates.empty()) {
    if (!choice.names.empty()) refuse("names", "not with `candidates`, which are names already");
    add_hypotheses(head.labels(), choice, plan);
    return plan;
  }
  if (!choice.hypothesis_template.empty())
    refuse("hypothesis_template", "wants `candidates`, the candidates");
  if (choice.independent) refuse("independent", "wants `candidates`, the candidates");
  if (choice.calibrate) refuse("calibrate", "wants `candidates`, the candidates");
  if (choice.names.empty()) {
    if (!plan.values) require_different(head);
    return plan;
  }
  if (choice.names.size() != plan.labels.size()) {
    refuse("names",
           fmt::format("found {} name{}, wants {} (for {})", choice.names.size(),
                       choice.names.size() == 1 ? "" : "s", plan.labels.size(), list(plan.labels)));
  }
  plan.labels = choice.names;
  return plan;
}

void LabelPlan::check_candidates(const Tokenizer& tokenizer, Tokenizer::Scratch& scratch) const {
  if (hypotheses.empty()) return;
  EncodeOptions encode;
  encode.add_special_tokens = false;
  Encoding tokens;
  for (const std::string& candidate : labels) {
    tokens.clear();
    tokenizer.encode(candidate, encode, tokens, scratch);
    const auto unknown =
        std::count(tokens.input_ids.begin(), tokens.input_ids.end(), tokenizer.unk_id());
    if (2 * static_cast<size_t>(unknown) <= tokens.size()) continue;
    refuse("candidates",
           fmt::format("'{}' has characters that the vocabulary lacks", printable(candidate)));
  }
}

std::vector<Text> LabelPlan::questions(const Text& text) const {
  if (hypotheses.empty()) return {text};
  std::vector<Text> all;
  for (const std::string& hypothesis : hypotheses) all.push_back({text.text, hypothesis});
  return all;
}

void choose_labels(const LabelPlan& plan, const LabelRule& rule, std::span<const float> scores,
                   std::vector<size_t>& order, std::vector<size_t>& chosen) {
  order.clear();
  chosen.clear();
  if (!std::all_of(scores.begin(), scores.end(), [](float v) { return std::isfinite(v); })) return;
  order.resize(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  const bool many = plan.independent && (rule.threshold || rule.several);
  // Of one label a logit above 0 is a probability above one half.
  const double least = plan.logits ? (many ? 0.0 : -INFINITY) : (many ? 0.5 : 0.0);
  const double threshold = rule.threshold.value_or(least);
  for (const size_t label : order) {
    if (!plan.values && static_cast<double>(scores[label]) < threshold) break;
    chosen.push_back(label);
    if (!many) break;
  }
}

void LabelPredictor::predict(const Sequences& sequences, size_t texts, Batcher& batcher,
                             LabelScores& out) const {
  const size_t labels = plan_.labels.size();
  const bool zero_shot = !plan_.hypotheses.empty();
  out.labels = labels;
  out.values.assign(texts * labels, 0.0f);
  std::vector<float> refutation(zero_shot ? texts * labels : 0);  // [texts, labels]
  batcher.run(
      model_, sequences.encodings(), [&](size_t first, const PackedBatch& batch, Matrix hidden) {
        const Matrix logits = head_.logits(batch, hidden, batcher.workspace());  // [S, outputs]
        if (!zero_shot && !plan_.logits) head_.normalize(logits);
        for (size_t s = 0; s < logits.rows; ++s) {
          if (zero_shot) {  // sequences are [texts, labels] too
            out.values[first + s] = logits.row(s)[plan_.entailment];
            refutation[first + s] = logits.row(s)[plan_.contradiction];
          } else {
            const std::span<float> scores = out[sequences.texts()[first + s]];
            for (size_t k = 0; k < labels; ++k) scores[k] += logits.row(s)[k];
          }
        }
      });
  if (zero_shot) return weigh_hypotheses(refutation, out);
  for (size_t first = 0, end = 0; first < sequences.size(); first = end) {
    end = sequences.end_of_text(first);
    if (end - first < 2) continue;
    for (float& score : out[sequences.texts()[first]]) score /= static_cast<float>(end - first);
  }
}

/// Logits -> probabilities: entailment against contradiction for each label, or the labels'
/// entailments against each other.
void LabelPredictor::weigh_hypotheses(std::span<const float> refutation, LabelScores& out) const {
  const size_t labels = out.labels;
  for (size_t i = 0; !plan_.independent && i < out.values.size(); i += labels) {
    softmax({&out.values[i], labels});
  }
  for (size_t i = 0; plan_.independent && i < out.values.size(); ++i) {
    float two[] = {refutation[i], out.values[i]};
    softmax(two);
    out.values[i] = two[1];
  }
}

}  // namespace bert
