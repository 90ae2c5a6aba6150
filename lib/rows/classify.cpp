#include "rows/classify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/parse.h"
#include "io/json.h"

namespace bert {
namespace {

/// The names in the gold field of a record that may have several labels: the strings of a JSON
/// list, else what commas separate.
std::vector<std::string> names_in(const Record& record, std::string_view field) {
  std::vector<std::string> names;
  if (field.empty()) return names;
  std::optional<JsonDocument> list;
  try {
    if (field.starts_with('[')) list = JsonDocument::parse(field, "gold");
  } catch (const Error&) {  // a label in brackets
  }
  if (!list) {
    for (const std::string_view name : split(field, ',')) names.emplace_back(name);
    return names;
  }
  list->root().for_each_element([&](Json name) {
    if (!name.is_string()) {
      record.fail(Error::Kind::data,
                  fmt::format("has a gold label that is {}, wants a string", name.describe()));
    }
    names.emplace_back(name.as_string());
  });
  return names;
}

}  // namespace

std::vector<std::string> ClassifyOptions::columns(const LabelPlan& plan) const {
  const std::vector<float> scores(plan.labels.size());
  return names_of(LabelRow{plan, *this, scores});
}

size_t GoldLabels::label(const Record& record, std::string_view name) const {
  const std::vector<std::string>& labels = plan_.labels;
  const auto found = std::find(labels.begin(), labels.end(), name);
  if (found != labels.end()) return static_cast<size_t>(found - labels.begin());
  if (const auto id = to_number<size_t>(name); id && *id < labels.size()) return *id;
  record.fail(Error::Kind::data,
              fmt::format("found the gold label '{}', wants one of {}, or its number from 0",
                          printable(name), printable(fmt::format("{}", fmt::join(labels, ", ")))));
}

/// The labels of a record that may have several.
std::vector<size_t> GoldLabels::labels_in(const Record& record, std::string_view field) const {
  std::vector<size_t> ids;
  for (const std::string& name : names_in(record, field)) {
    const size_t id = label(record, name);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

/// What the other prediction says: '-' and 'nan', as rows have them, are no label.
std::vector<size_t> GoldLabels::other_labels(const Record& record) const {
  const std::string_view field = record.extra[1];
  if (!against_ || field == "-" || field == "nan") return {};
  if (plan_.independent) return labels_in(record, field);
  return {label(record, field)};
}

void GoldLabels::add_value(const Record& record, double predicted) {
  const auto read = [&](std::string_view field, const char* what) {
    const auto value = to_number<double>(field);
    if (!value) {
      record.fail(Error::Kind::data,
                  fmt::format("found the {} value '{}', wants a number", what, printable(field)));
    }
    return *value;
  };
  values_.add(record.number, read(record.extra[0], "gold"), predicted,
              against_ ? read(record.extra[1], "other") : 0);
}

void GoldLabels::add(const Record& record, std::span<const float> scores,
                     std::span<const size_t> chosen) {
  const std::string_view gold = record.extra[0];
  if (of_values()) return add_value(record, static_cast<double>(scores[0]));
  const std::vector<size_t> ids =
      plan_.independent ? labels_in(record, gold) : std::vector<size_t>{label(record, gold)};
  labels_.add(ids, chosen, other_labels(record));
  if (plan_.independent) {
    for (size_t i = 0; i < scores.size(); ++i) {
      const bool right = std::find(ids.begin(), ids.end(), i) != ids.end();
      calibration_.add(static_cast<double>(scores[i]), right);
    }
  } else {
    const auto best = std::max_element(scores.begin(), scores.end());
    const bool right = static_cast<size_t>(best - scores.begin()) == ids[0];
    calibration_.add(static_cast<double>(*best), right);
  }
}

LabelWorker::LabelWorker(const Tokenizer& tokenizer, const LabelPlan& plan,
                         const ClassifyOptions& classify, const TaskOptions& options,
                         LabelSink sink)
    : TaskWorker(tokenizer, options),
      plan_(plan),
      classify_(classify),
      sink_(std::move(sink)),
      row_{plan_, classify_} {
  const auto refuse = [](const char* field) {
    throw Error::of_field(field, "the model gives values, no labels");
  };
  if (plan.values && classify.rule.threshold) refuse("threshold");
  if (plan.values && classify.top_k > 0) refuse("top_k");
  if (plan.values && classify.all) refuse("all");
  if (plan.values && plan.logits) refuse("logits");
}

void LabelWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  score(records);
  for (size_t i = 0; i < records.size(); ++i) {
    row_.scores = scores_[i];
    choose_labels(plan_, classify_.rule, row_.scores, row_.order, row_.chosen);
    if (row_.order.empty()) note_non_finite(records[i]);
    if (sink_) once(records[i], [&] { sink_(records[i], row_.scores, row_.chosen); });
    write(records[i], row_, rows, classify_.pair ? Repeats::pair : Repeats::text);
  }
}

ClassifyWorker::ClassifyWorker(const Tokenizer& tokenizer, const LabelPredictor& predictor,
                               const ClassifyOptions& classify, const TaskOptions& options,
                               LabelSink sink)
    : LabelWorker(tokenizer, predictor.plan(), classify, options, std::move(sink)),
      predictor_(predictor) {
  if (plan_.hypotheses.empty()) return;
  refuse_windows(" with zero-shot labels");
  plan_.check_candidates(tokenizer, scratch_);
}

void ClassifyWorker::score(std::span<const Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (classify_.pair) {
      read(record, true, i);
    } else {
      for (const Text& text : plan_.questions({record.text})) read(record, text, i);
    }
  }
  predictor_.predict(sequences_, records.size(), batcher_, scores_);
}

ClozeWorker::ClozeWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                         const LabelPlan& plan, const ClozePlan& cloze,
                         const ClassifyOptions& classify, const TaskOptions& options,
                         LabelSink sink)
    : LabelWorker(tokenizer, plan, classify, options, std::move(sink)),
      short_reader_(tokenizer, ClozePredictor::reading(options_, cloze)),
      predictor_(tokenizer, model, head, cloze, options.max_batch_tokens) {
  refuse_windows(" with zero-shot labels");
}

void ClozeWorker::score(std::span<const Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    note(records[i], short_reader_.read({records[i].text}, i, sequences_));
  }
  predictor_.predict(sequences_.encodings(), short_reader_, scores_);
}

void LabelRow::cells(Cells& c) const {
  if (auto json = c.members()) return members(c, *json);
  if (plan.values || classify.all) return all(c);
  if (classify.top_k > 0) return first(c);
  best(c);
}

/// Values and logits with all their digits: at six of them, rerankers would tie.
void LabelRow::score(Cells& c, std::string_view name, float value) const {
  if (plan.values || plan.logits) {
    c.exact(name, value);
  } else {
    c.number(name, static_cast<double>(value));
  }
}

void LabelRow::all(Cells& c) const {
  for (size_t i = 0; i < scores.size(); ++i) score(c, plan.labels[i], scores[i]);
}

/// The K best labels, each with its score.
void LabelRow::first(Cells& c) const {
  for (size_t i = 0; i < std::min(classify.top_k, scores.size()); ++i) {
    c.text(fmt::format("label{}", i + 1), order.empty() ? "nan" : plan.labels[order[i]]);
    const float value = order.empty() ? std::numeric_limits<float>::quiet_NaN() : scores[order[i]];
    score(c, fmt::format("{}{}", plan.logits ? "logit" : "p", i + 1), value);
  }
}

/// The best label; with a threshold and independent labels, all that reach it, with commas. A text
/// that no label reaches gets '-' and the best probability.
void LabelRow::best(Cells& c) const {
  const size_t shown = classify.rule.threshold ? std::max<size_t>(chosen.size(), 1) : 1;
  std::string labels, probabilities;
  for (size_t i = 0; i < shown && !order.empty(); ++i) {
    if (i > 0) labels += ',', probabilities += ',';
    labels += reached() ? plan.labels[order[i]] : "-";
    probabilities +=
        plan.logits ? fmt::format("{}", scores[order[i]]) : fmt::format("{:.6g}", scores[order[i]]);
  }
  c.text("label", order.empty() ? "nan" : labels);
  c.text(plan.logits ? "logit" : "probability", order.empty() ? "nan" : probabilities);
}

/// The label, null if none reaches the threshold, and the best score; those that reach it, of
/// independent labels; and all scores.
void LabelRow::members(Cells& c, JsonRow& json) const {
  if (!plan.values) {
    const bool none = order.empty() || !reached();
    none ? json.null("label") : json.text("label", plan.labels[order[0]]);
    score(c, "score", order.empty() ? std::numeric_limits<float>::quiet_NaN() : scores[order[0]]);
  }
  if (plan.independent && classify.rule.threshold) {
    json.list("labels");
    for (const size_t label : chosen) json.text("", plan.labels[label]);
    json.end_list();
  }
  json.list(plan.values ? "values" : "scores");
  const bool ranked = classify.top_k > 0 && !order.empty();
  const size_t shown = ranked ? std::min(classify.top_k, scores.size()) : scores.size();
  for (size_t k = 0; k < shown; ++k) {
    const size_t i = ranked ? order[k] : k;
    json.object().text("label", plan.labels[i]);
    score(c, "score", scores[i]);
    json.end_object();
  }
  json.end_list();
}

}  // namespace bert
