#include "tasks/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/error.h"
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

}  // namespace

LabelPlan LabelPlan::make(const Classifier& head, const std::vector<std::string>& names,
                          const std::string& hypothesis_template, bool independent) {
  LabelPlan plan;
  plan.labels = head.labels();
  plan.values = head.normalization() == Normalization::none;
  plan.independent = head.normalization() == Normalization::sigmoid && plan.labels.size() > 1;
  const std::optional<size_t> entailment = find_label(head.labels(), "entail");
  if ((!hypothesis_template.empty() || independent) && (names.empty() || !entailment)) {
    throw Error(Error::Kind::usage, hypothesis_template.empty() ? "--multi-label" : "--template",
                names.empty()
                    ? std::string("wants --labels, the candidates")
                    : fmt::format("zero-shot wants a model with a label 'entailment', found {}",
                                  list(head.labels())));
  }
  if (names.empty()) return plan;
  plan.labels = names;
  if (!entailment) {
    if (names.size() == head.labels().size()) return plan;
    throw Error(Error::Kind::usage, "--labels",
                fmt::format("found {} names, wants {} (for {}), or for zero-shot a model with a "
                            "label 'entailment'",
                            names.size(), head.labels().size(), list(head.labels())));
  }
  const std::string pattern =
      hypothesis_template.empty() ? "This example is {}." : hypothesis_template;
  const size_t hole = pattern.find("{}");
  if (hole == std::string::npos) {
    throw Error(Error::Kind::usage, "--template", "wants {} where the label goes");
  }
  for (const std::string& name : names) {
    plan.hypotheses.push_back(pattern.substr(0, hole) + name + pattern.substr(hole + 2));
  }
  plan.entailment = *entailment;
  // Without such a name, the label at the other end, as in the reference.
  plan.contradiction = find_label(head.labels(), "contradict")
                           .value_or(*entailment == 0 ? head.labels().size() - 1 : 0);
  plan.values = false;
  plan.independent = independent || names.size() == 1;
  return plan;
}

ClassifyWorker::ClassifyWorker(const Tokenizer& tokenizer, const Model& model,
                               const Classifier& head, const LabelPlan& plan,
                               const ClassifyOptions& classify, const TaskOptions& options)
    : TaskWorker(tokenizer, &model, options), head_(head), plan_(plan), classify_(classify) {
  if (!plan.hypotheses.empty()) refuse_windows(" with zero-shot labels");
}

void ClassifyWorker::run(std::span<const Record> records, Rows& rows) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) {
    if (plan_.hypotheses.empty()) {
      encode(records[i], classify_.pair, i);
    } else {
      encode_hypotheses(records[i], i);
    }
  }
  compute_scores(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const std::span<const float> scores(&scores_[i * plan_.labels.size()], plan_.labels.size());
    choose(scores);
    if (order_.empty()) note_non_finite(records[i]);
    evaluate(records[i], scores);
    write(records[i], scores, rows);
  }
}

/// The record beside each hypothesis; counted as one record.
void ClassifyWorker::encode_hypotheses(const Record& record, size_t owner) {
  const Counts before = counts_;
  Record beside = record;
  for (const std::string& hypothesis : plan_.hypotheses) {
    beside.text_pair = hypothesis;
    encode(beside, true, owner);
  }
  counts_.overflowed = std::min(counts_.overflowed, before.overflowed + 1);
  counts_.invalid_utf8 = std::min(counts_.invalid_utf8, before.invalid_utf8 + 1);
}

/// scores_ [count, labels]
void ClassifyWorker::compute_scores(size_t count) {
  const size_t labels = plan_.labels.size();
  scores_.assign(count * labels, 0.0f);
  refutation_.assign(plan_.hypotheses.empty() ? 0 : count * labels, 0.0f);
  windows_.assign(count, 0);
  for_each_batch([&](size_t first, const PackedBatch& batch, Matrix hidden) {
    const Matrix logits = head_.logits(batch, hidden, workspace_);  // [S, outputs]
    if (plan_.hypotheses.empty()) head_.normalize(logits);
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

/// Fills order_ and chosen_.
void ClassifyWorker::choose(std::span<const float> scores) {
  order_.clear();
  chosen_.clear();
  if (!std::all_of(scores.begin(), scores.end(), [](float v) { return std::isfinite(v); })) return;
  order_.resize(scores.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  const bool many = plan_.independent && (classify_.threshold || classify_.label_metrics);
  const double threshold = classify_.threshold.value_or(many ? 0.5 : 0.0);
  for (const size_t label : order_) {
    if (!plan_.values && static_cast<double>(scores[label]) < threshold) break;
    chosen_.push_back(label);
    if (!many) break;
  }
}

size_t ClassifyWorker::gold_label(const Record& record, std::string_view name) const {
  const std::vector<std::string>& labels = plan_.labels;
  const auto found = std::find(labels.begin(), labels.end(), name);
  if (found != labels.end()) return static_cast<size_t>(found - labels.begin());
  size_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error == std::errc() && end == name.data() + name.size() && id < labels.size()) return id;
  record.fail(Error::Kind::data, fmt::format("found the gold label '{}', wants one of {}, or its "
                                             "number from 0",
                                             printable(name), list(labels)));
}

void ClassifyWorker::evaluate(const Record& record, std::span<const float> scores) {
  const std::string_view gold = record.extra[0];
  if (classify_.value_metrics) {
    double value = 0;
    const auto [end, error] = std::from_chars(gold.data(), gold.data() + gold.size(), value);
    if (error != std::errc() || end != gold.data() + gold.size()) {
      record.fail(Error::Kind::data,
                  fmt::format("found the gold value '{}', wants a number", printable(gold)));
    }
    classify_.value_metrics->add(record.number, value, static_cast<double>(scores[0]));
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

void ClassifyWorker::write(const Record& record, std::span<const float> scores, Rows& rows) const {
  if (options_.json) {
    write_json(record, scores, rows);
    return;
  }
  begin_row(rows, record);
  if (plan_.values) {
    for (const float value : scores) rows.field(value);
  } else if (classify_.all) {
    for (const float score : scores) rows.number(static_cast<double>(score));
  } else if (classify_.top_k > 0) {
    for (size_t i = 0; i < std::min(classify_.top_k, scores.size()); ++i) {
      if (order_.empty()) {
        rows.field("nan").field("nan");
      } else {
        rows.field(plan_.labels[order_[i]]).number(static_cast<double>(scores[order_[i]]));
      }
    }
  } else {
    write_best(scores, rows);
  }
  end_row(rows, record);
}

/// label TAB probability; with a threshold and independent labels, all that reach it, with commas.
/// A text that no label reaches gets '-' and the best probability.
void ClassifyWorker::write_best(std::span<const float> scores, Rows& rows) const {
  if (order_.empty()) {
    rows.field("nan").field("nan");
    return;
  }
  const bool reached = !chosen_.empty() || !classify_.threshold;
  const size_t shown = classify_.threshold ? std::max<size_t>(chosen_.size(), 1) : 1;
  std::string labels, probabilities;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) labels += ',', probabilities += ',';
    labels += reached ? plan_.labels[order_[i]] : "-";
    probabilities += fmt::format("{:.6g}", scores[order_[i]]);
  }
  rows.field(labels).field(probabilities);
}

void ClassifyWorker::write_json(const Record& record, std::span<const float> scores,
                                Rows& rows) const {
  begin_json(rows, record, classify_.pair);
  std::string& out = rows.raw();
  if (!plan_.values) {
    out += ",\"label\":";
    if (chosen_.empty()) {
      out += "null";
    } else {
      append_json_string(out, plan_.labels[chosen_[0]]);
    }
  }
  if (plan_.independent && classify_.threshold) {
    out += ",\"labels\":[";
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (i > 0) out += ',';
      append_json_string(out, plan_.labels[chosen_[i]]);
    }
    out += ']';
  }
  out += plan_.values ? ",\"values\":[" : ",\"scores\":[";
  for (size_t i = 0; i < scores.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"label\":";
    append_json_string(out, plan_.labels[i]);
    out += ",\"score\":";
    append_json_number(out, static_cast<double>(scores[i]));
    out += '}';
  }
  out += ']';
  end_json(rows);
}

}  // namespace bert
