#include "tasks/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "io/json.h"
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

std::vector<std::string> LabelPlan::columns(const ClassifyOptions& classify) const {
  if (classify.all || values) return labels;
  std::vector<std::string> names;
  for (size_t k = 1; k <= std::min(classify.top_k, labels.size()); ++k) {
    names.push_back(fmt::format("label{}", k));
    names.push_back(fmt::format("{}{}", logits ? "logit" : "p", k));
  }
  if (names.empty()) names = {"label", logits ? "logit" : "probability"};
  return names;
}

LabelPlan LabelPlan::make(const Classifier& head, const LabelChoice& choice) {
  LabelPlan plan;
  plan.labels = head.labels();
  plan.logits = choice.logits;
  plan.values = head.normalization() == Normalization::none;
  plan.independent = head.normalization() == Normalization::sigmoid && plan.labels.size() > 1;
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

void choose_labels(const LabelPlan& plan, const ClassifyOptions& options,
                   std::span<const float> scores, std::vector<size_t>& order,
                   std::vector<size_t>& chosen) {
  order.clear();
  chosen.clear();
  if (!std::all_of(scores.begin(), scores.end(), [](float v) { return std::isfinite(v); })) return;
  order.resize(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  const bool many = plan.independent && (options.threshold || options.label_metrics);
  // Of one label a logit above 0 is a probability above one half.
  const double least = plan.logits ? (many ? 0.0 : -INFINITY) : (many ? 0.5 : 0.0);
  const double threshold = options.threshold.value_or(least);
  for (const size_t label : order) {
    if (!plan.values && static_cast<double>(scores[label]) < threshold) break;
    chosen.push_back(label);
    if (!many) break;
  }
}

LabelWorker::LabelWorker(const Tokenizer& tokenizer, const Model& model, const LabelPlan& plan,
                         const ClassifyOptions& classify, const TaskOptions& options)
    : TaskWorker(tokenizer, &model, options), plan_(plan), classify_(classify) {
  if (plan.values && classify.threshold) refuse("threshold", "the model gives values, no labels");
  if (plan.values && classify.top_k > 0) refuse("top_k", "the model gives values, no labels");
}

ClassifyWorker::ClassifyWorker(const Tokenizer& tokenizer, const Model& model,
                               const Classifier& head, const LabelPlan& plan,
                               const ClassifyOptions& classify, const TaskOptions& options)
    : LabelWorker(tokenizer, model, plan, classify, options), head_(head) {
  if (plan.hypotheses.empty()) return;
  refuse_windows(" with zero-shot labels");
  for (const std::string& candidate : plan.labels) require_known(candidate);
}

/// Throws Error(usage) for a candidate of mostly unknown tokens: the model reads all such alike.
void ClassifyWorker::require_known(const std::string& candidate) {
  EncodeOptions encode;
  encode.add_special_tokens = false;
  Encoding tokens;
  tokenizer_.encode(candidate, encode, tokens, scratch_);
  const auto unknown =
      std::count(tokens.input_ids.begin(), tokens.input_ids.end(), tokenizer_.unk_id());
  if (2 * static_cast<size_t>(unknown) <= tokens.size()) return;
  refuse("candidates",
         fmt::format("'{}' has characters that the vocabulary lacks", printable(candidate)));
}

void ClassifyWorker::score(std::span<const Record> records) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) {
    if (plan_.hypotheses.empty()) {
      encode(records[i], classify_.pair, i);
    } else {
      encode_hypotheses(records[i], i);
    }
  }
  compute_scores(records.size());
}

void LabelWorker::run(std::span<const Record> records, Rows& rows) {
  score(records);
  for (size_t i = 0; i < records.size(); ++i) {
    const std::span<const float> scores(&scores_[i * plan_.labels.size()], plan_.labels.size());
    choose_labels(plan_, classify_, scores, order_, chosen_);
    if (order_.empty()) note_non_finite(records[i]);
    once(records[i], [&] { evaluate(records[i], scores); });
    write(records[i], scores, rows);
  }
}

void ClassifyWorker::encode_hypotheses(const Record& record, size_t owner) {
  Record beside = record;
  for (const std::string& hypothesis : plan_.hypotheses) {
    beside.text_pair = hypothesis;
    encode(beside, true, owner);
  }
}

/// scores_ [count, labels]
void ClassifyWorker::compute_scores(size_t count) {
  const size_t labels = plan_.labels.size();
  scores_.assign(count * labels, 0.0f);
  refutation_.assign(plan_.hypotheses.empty() ? 0 : count * labels, 0.0f);
  windows_.assign(count, 0);
  for_each_batch([&](size_t first, const PackedBatch& batch, Matrix hidden) {
    const Matrix logits = head_.logits(batch, hidden, workspace_);  // [S, outputs]
    if (plan_.hypotheses.empty() && !plan_.logits) head_.normalize(logits);
    for (size_t s = 0; s < logits.rows; ++s) {
      const size_t owner = owners_[first + s];
      if (plan_.hypotheses.empty()) {
        for (size_t i = 0; i < labels; ++i) scores_[owner * labels + i] += logits.row(s)[i];
        ++windows_[owner];
      } else {  // encodings are [count, labels] too
        scores_[first + s] = logits.row(s)[plan_.entailment];
        refutation_[first + s] = logits.row(s)[plan_.contradiction];
      }
    }
  });
  if (!plan_.hypotheses.empty()) weigh_hypotheses(count);
  for (size_t i = 0; i < count; ++i) {
    if (windows_[i] < 2) continue;
    for (size_t k = 0; k < labels; ++k) {
      scores_[i * labels + k] /= static_cast<float>(windows_[i]);
    }
  }
}

/// Logits -> probabilities: entailment against contradiction for each label, or the labels'
/// entailments against each other.
void ClassifyWorker::weigh_hypotheses(size_t count) {
  const size_t labels = plan_.labels.size();
  for (size_t i = 0; i < count; ++i) {
    if (!plan_.independent) {
      softmax({&scores_[i * labels], labels});
      continue;
    }
    for (size_t k = i * labels; k < (i + 1) * labels; ++k) {
      float two[] = {refutation_[k], scores_[k]};
      softmax(two);
      scores_[k] = two[1];
    }
  }
}

size_t LabelWorker::gold_label(const Record& record, std::string_view name) const {
  const std::vector<std::string>& labels = plan_.labels;
  const auto found = std::find(labels.begin(), labels.end(), name);
  if (found != labels.end()) return static_cast<size_t>(found - labels.begin());
  if (const auto id = to_number<size_t>(name); id && *id < labels.size()) return *id;
  record.fail(Error::Kind::data, fmt::format("found the gold label '{}', wants one of {}, or its "
                                             "number from 0",
                                             printable(name), list(labels)));
}

void LabelWorker::evaluate(const Record& record, std::span<const float> scores) {
  const std::string_view gold = record.extra[0];
  if (classify_.value_metrics) {
    const auto value = to_number<double>(gold);
    if (!value) {
      record.fail(Error::Kind::data,
                  fmt::format("found the gold value '{}', wants a number", printable(gold)));
    }
    classify_.value_metrics->add(record.number, *value, static_cast<double>(scores[0]));
  }
  if (!classify_.label_metrics) return;
  std::vector<size_t> ids;
  for (size_t begin = 0; !(plan_.independent && gold.empty()) && begin <= gold.size();) {
    const size_t comma = plan_.independent ? gold.find(',', begin) : std::string_view::npos;
    const size_t end = std::min(comma, gold.size());
    const size_t id = gold_label(record, gold.substr(begin, end - begin));
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    begin = end + 1;
  }
  classify_.label_metrics->add(ids, chosen_);
}

void LabelWorker::write(const Record& record, std::span<const float> scores, Rows& rows) const {
  if (options_.json) {
    write_json(record, scores, rows);
    return;
  }
  begin_row(rows, record);
  if (plan_.values || classify_.all) {
    for (const float score : scores) write_score(score, rows);
  } else if (classify_.top_k > 0) {
    for (size_t i = 0; i < std::min(classify_.top_k, scores.size()); ++i) {
      if (order_.empty()) {
        rows.field("nan").field("nan");
      } else {
        rows.field(plan_.labels[order_[i]]);
        write_score(scores[order_[i]], rows);
      }
    }
  } else {
    write_best(scores, rows);
  }
  end_row(rows, record);
}

/// Values and logits with all their digits: at six of them, rerankers would tie.
void LabelWorker::write_score(float score, Rows& rows) const {
  if (plan_.values || plan_.logits) {
    rows.field(score);
  } else {
    rows.number(static_cast<double>(score));
  }
}

/// label TAB probability; with a threshold and independent labels, all that reach it, with commas.
/// A text that no label reaches gets '-' and the best probability.
void LabelWorker::write_best(std::span<const float> scores, Rows& rows) const {
  if (order_.empty()) {
    rows.field("nan").field("nan");
    return;
  }
  const size_t shown = classify_.threshold ? std::max<size_t>(chosen_.size(), 1) : 1;
  std::string labels, probabilities;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) labels += ',', probabilities += ',';
    labels += reached() ? plan_.labels[order_[i]] : "-";
    probabilities += plan_.logits ? fmt::format("{}", scores[order_[i]])
                                  : fmt::format("{:.6g}", scores[order_[i]]);
  }
  rows.field(labels).field(probabilities);
}

/// The label and its score; if no label reaches the threshold, null and the best score.
void LabelWorker::write_json_best(std::span<const float> scores, JsonRow& json) const {
  if (order_.empty() || !reached()) {
    json.null("label");
  } else {
    json.text("label", plan_.labels[order_[0]]);
  }
  if (order_.empty()) {
    json.null("score");
  } else {
    write_json_score(scores[order_[0]], json);
  }
}

void LabelWorker::write_json_score(float score, JsonRow& json) const {
  if (plan_.values || plan_.logits) {
    json.exact("score", score);
  } else {
    json.number("score", static_cast<double>(score));
  }
}

void LabelWorker::write_json(const Record& record, std::span<const float> scores,
                             Rows& rows) const {
  JsonRow json = begin_json(rows, record, classify_.pair);
  if (!plan_.values) write_json_best(scores, json);
  if (plan_.independent && classify_.threshold) {
    json.list("labels");
    for (const size_t label : chosen_) json.text("", plan_.labels[label]);
    json.end_list();
  }
  json.list(plan_.values ? "values" : "scores");
  const bool best = classify_.top_k > 0 && !order_.empty();
  const size_t shown = best ? std::min(classify_.top_k, scores.size()) : scores.size();
  for (size_t k = 0; k < shown; ++k) {
    const size_t i = best ? order_[k] : k;
    json.object().text("label", plan_.labels[i]);
    write_json_score(scores[i], json);
    json.end_object();
  }
  json.end_list();
  end_json(rows);
}

}  // namespace bert
