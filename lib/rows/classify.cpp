#include "rows/classify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"

namespace bert {

std::vector<std::string> ClassifyOptions::columns(const LabelPlan& plan) const {
  if (all || plan.values) return plan.labels;
  std::vector<std::string> names;
  for (size_t k = 1; k <= std::min(top_k, plan.labels.size()); ++k) {
    names.push_back(fmt::format("label{}", k));
    names.push_back(fmt::format("{}{}", plan.logits ? "logit" : "p", k));
  }
  if (names.empty()) names = {"label", plan.logits ? "logit" : "probability"};
  return names;
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

void GoldLabels::add(const Record& record, std::span<const float> scores,
                     std::span<const size_t> chosen) {
  const std::string_view gold = record.extra[0];
  if (of_values()) {
    const auto value = to_number<double>(gold);
    if (!value) {
      record.fail(Error::Kind::data,
                  fmt::format("found the gold value '{}', wants a number", printable(gold)));
    }
    return values_.add(record.number, *value, static_cast<double>(scores[0]));
  }
  std::vector<size_t> ids;
  for (size_t begin = 0; !(plan_.independent && gold.empty()) && begin <= gold.size();) {
    const size_t comma = plan_.independent ? gold.find(',', begin) : std::string_view::npos;
    const size_t end = std::min(comma, gold.size());
    const size_t id = label(record, gold.substr(begin, end - begin));
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    begin = end + 1;
  }
  labels_.add(ids, chosen);
}

LabelWorker::LabelWorker(const Tokenizer& tokenizer, const LabelPlan& plan,
                         const ClassifyOptions& classify, const TaskOptions& options,
                         LabelSink sink)
    : TaskWorker(tokenizer, options), plan_(plan), classify_(classify), sink_(std::move(sink)) {
  const auto refuse = [](const char* field) {
    throw Error::of_field(field, "the model gives values, no labels");
  };
  if (plan.values && classify.rule.threshold) refuse("threshold");
  if (plan.values && classify.top_k > 0) refuse("top_k");
}

void LabelWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  score(records);
  for (size_t i = 0; i < records.size(); ++i) {
    const std::span<const float> scores = scores_[i];
    choose_labels(plan_, classify_.rule, scores, order_, chosen_);
    if (order_.empty()) note_non_finite(records[i]);
    if (sink_) once(records[i], [&] { sink_(records[i], scores, chosen_); });
    write(records[i], scores, rows);
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
  const size_t shown = classify_.rule.threshold ? std::max<size_t>(chosen_.size(), 1) : 1;
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
  if (plan_.independent && classify_.rule.threshold) {
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
