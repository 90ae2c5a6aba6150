#include "rows/attend.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tokenizer/words.h"

namespace bert {
namespace {

using Show = AttendOptions::Show;

/// Whether each row is a distribution: scores that are not finite leave NaN, or zeros alone.
bool are_weights(ConstMatrix weights) {
  for (size_t from = 0; from < weights.rows; ++from) {
    const float* row = weights.row(from);
    const float sum = std::accumulate(row, row + weights.cols, 0.f);
    if (!(std::abs(sum - 1) < 0.01f)) return false;
  }
  return true;
}

bool are_finite(ConstMatrix values) {
  for (size_t i = 0; i < values.rows; ++i) {
    const float* row = values.row(i);
    if (!std::all_of(row, row + values.cols, [](float v) { return std::isfinite(v); }))
      return false;
  }
  return true;
}

std::vector<int32_t> ids_of(const std::vector<FrameToken>& tokens) {
  std::vector<int32_t> ids;
  for (const FrameToken& token : tokens) ids.push_back(token.id);
  return ids;
}

bool holds(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// A row of a head, whatever follows.
template <typename Row>
struct OfHead {
  size_t layer = 0, head = 0;
  Row row = {};
  void cells(Cells& c) const {
    c.count("layer", layer).count("head", head);
    row.cells(c);
  }
};

template <typename Row>
OfHead<Row> of_head(const TraceView& view, const Row& row) {
  return {view.layer, view.head + 1, row};
}

struct WeightRow {
  size_t from = 0, to = 0;
  double weight = 0;
  std::string_view from_token = {}, to_token = {};
  std::optional<double> score = {};
  void cells(Cells& c) const {
    c.count("from", from).count("to", to).number("weight", weight);
    c.text("from_token", from_token).text("to_token", to_token);
    if (score) c.number("score", *score);
  }
};

struct OutputRow {
  size_t index = 0;
  std::string_view token = {};
  std::span<const float> vector = {};
  void cells(Cells& c) const {
    c.count("index", index).text("token", token).vector("vector", vector);
  }
};

TraceMask request(const AttendOptions& attend) {
  if (attend.show == Show::outputs) return Traced::context;
  return attend.scores ? Traced::scores | Traced::probabilities : TraceMask(Traced::probabilities);
}

}  // namespace

std::vector<std::string> AttendOptions::columns(size_t D) const {
  if (show == Show::stats) return names_of<OfHead<AttentionStats>>();
  const std::vector<float> vector(D);
  if (show == Show::outputs) return names_of(OfHead<OutputRow>{0, 0, {0, "", vector}});
  const auto score = scores ? std::optional(0.0) : std::nullopt;
  return names_of(OfHead<WeightRow>{0, 0, {.score = score}});
}

AttendWorker::AttendWorker(const Tokenizer& tokenizer, const Model& model,
                           const AttendOptions& attend, const TaskOptions& options)
    : TaskWorker(tokenizer, options),
      model_(model),
      attend_(attend),
      request_{request(attend), attend.layers, {}},
      before_(ids_of(tokenizer.frame().before)),
      after_(ids_of(tokenizer.frame().after)) {
  refuse_windows();
  for (const size_t head : attend_.heads) request_.heads.push_back(head - 1);
}

void AttendWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) read(records[i], false, i);
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    find_units(record, sequences_[i]);
    if (options_.json) begin_object(record, rows);
    show_attention(model_, sequences_[i], request_, batcher_,
                   [&](const TraceView& view) { take(record, sequences_[i], view, rows); });
    if (!sound_) note_non_finite(record);
    if (!options_.json) continue;
    JsonRow(rows.raw()).end_list();
    end(record, rows);
  }
}

void AttendWorker::find_units(const Record& record, const Encoding& encoding) {
  units_.clear();
  sound_ = true;
  std::span<const int32_t> words;
  if (attend_.words) words = number_words(record.text, 0, encoding, words_);
  for (size_t t = 0; t < encoding.size(); ++t) {
    if (!attend_.words) {
      units_.push_back({t, t, t + 1, tokenizer_.token(encoding.input_ids[t])});
      continue;
    }
    const int32_t word = words[t];
    if (word < 0) continue;
    const auto index = static_cast<size_t>(word);
    if (units_.empty() || units_.back().index != index) units_.push_back({index, t, t + 1, {}});
    units_.back().end = t + 1;
  }
  if (!attend_.words) return;
  for (Unit& unit : units_) {
    const Offset bytes = without_blank(
        record.text, {encoding.offsets[unit.begin].begin, encoding.offsets[unit.end - 1].end});
    unit.text = record.text.substr(bytes.begin, bytes.end - bytes.begin);
  }
}

void AttendWorker::take(const Record& record, const Encoding& encoding, const TraceView& view,
                        Rows& rows) {
  if (view.what == Traced::scores) {  // the weights of the same head follow
    const Matrix scores = scores_.matrix(view.values.rows, view.values.cols);
    for (size_t i = 0; i < scores.rows; ++i) {
      std::copy_n(view.values.row(i), scores.cols, scores.row(i));
    }
    kept_scores_ = scores;
    return;
  }
  const bool outputs = view.what == Traced::context;
  sound_ = sound_ && (outputs ? are_finite(view.values) : are_weights(view.values));
  if (attend_.show == Show::stats) {
    write_stats(record, encoding, view, rows);
    return;
  }
  ConstMatrix values = view.values;
  if (attend_.words) values = outputs ? averaged(values) : merged(values);
  if (options_.json) {
    write_json(view, values, rows);
  } else if (outputs) {
    write_outputs(record, view, values, rows);
  } else {
    write_weights(record, view, values, rows);
  }
}

/// Weights [n, n] of tokens to weights [W, W] of words.
ConstMatrix AttendWorker::merged(ConstMatrix weights) {
  const Matrix out = merged_.matrix(units_.size(), units_.size());
  for (size_t a = 0; a < out.rows; ++a) {
    const Unit& from = units_[a];
    for (size_t b = 0; b < out.cols; ++b) {
      double sum = 0;
      for (size_t i = from.begin; i < from.end; ++i) {
        for (size_t j = units_[b].begin; j < units_[b].end; ++j) sum += weights.row(i)[j];
      }
      out.row(a)[b] = static_cast<float>(sum / static_cast<double>(from.end - from.begin));
    }
  }
  return out;
}

/// Outputs [n, D] of tokens to outputs [W, D] of words.
ConstMatrix AttendWorker::averaged(ConstMatrix outputs) {
  const Matrix out = merged_.matrix(units_.size(), outputs.cols);
  for (size_t a = 0; a < out.rows; ++a) {
    const Unit& unit = units_[a];
    for (size_t x = 0; x < out.cols; ++x) {
      double sum = 0;
      for (size_t i = unit.begin; i < unit.end; ++i) sum += outputs.row(i)[x];
      out.row(a)[x] = static_cast<float>(sum / static_cast<double>(unit.end - unit.begin));
    }
  }
  return out;
}

/// `count`: the tokens that attend and are shown.
AttentionStats AttendWorker::stats(const Encoding& encoding, ConstMatrix weights,
                                   size_t& count) const {
  AttentionStats s;
  count = 0;
  for (size_t i = 0; i < weights.rows; ++i) {
    if (!shown(units_[i])) continue;
    ++count;
    const float* row = weights.row(i);
    for (size_t j = 0; j < weights.cols; ++j) {
      const double p = row[j];
      if (p != 0) s.entropy -= p * std::log(p);
      s.distance += p * static_cast<double>(i > j ? i - j : j - i);
      if (i == j) s.self += p;
      if (i == j + 1) s.previous += p;
      if (i + 1 == j) s.next += p;
      if (holds(before_, encoding.input_ids[j])) s.cls += p;
      if (holds(after_, encoding.input_ids[j])) s.sep += p;
    }
  }
  const double scale = count > 0 ? 1.0 / static_cast<double>(count) : 0;
  for (double* mean : {&s.entropy, &s.distance, &s.self, &s.previous, &s.next, &s.cls, &s.sep}) {
    *mean *= scale;
  }
  return s;
}

/// The beginning of an object, up to its heads.
void AttendWorker::begin_object(const Record& record, Rows& rows) const {
  begin(record, rows, Repeats::text);
  JsonRow json(rows.raw());
  json.list(attend_.words ? "words" : "tokens");
  for (const Unit& unit : units_) json.text("", unit.text);
  const char* const names[] = {"attention", "outputs", "stats"};
  json.end_list().list(names[static_cast<size_t>(attend_.show)]);
}

void AttendWorker::write_json(const TraceView& view, ConstMatrix values, Rows& rows) const {
  JsonRow json(rows.raw());
  json.object().count("layer", view.layer).count("head", view.head + 1);
  const auto matrix = [&](const char* name, ConstMatrix m) {
    json.list(name);
    for (size_t i = 0; i < m.rows; ++i) json.exact("", std::span(m.row(i), m.cols));
    json.end_list();
  };
  if (attend_.scores) matrix("scores", kept_scores_);
  matrix(attend_.show == Show::outputs ? "vectors" : "weights", values);
  json.end_object();
}

void AttendWorker::write_weights(const Record& record, const TraceView& view, ConstMatrix weights,
                                 Rows& rows) {
  for (size_t a = 0; a < weights.rows; ++a) {
    const Unit& from = units_[a];
    if (!shown(from)) continue;
    const float* weight = weights.row(a);
    order_.resize(weights.cols);
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (attend_.most > 0) {
      const auto key = [weight](size_t t) { return std::isnan(weight[t]) ? -1 : weight[t]; };
      std::stable_sort(order_.begin(), order_.end(),
                       [key](size_t i, size_t j) { return key(i) > key(j); });
      order_.resize(std::min(attend_.most, order_.size()));
    }
    for (const size_t b : order_) {
      const Unit& to = units_[b];
      WeightRow row{from.index, to.index, static_cast<double>(weight[b]), from.text, to.text};
      if (attend_.scores) row.score = static_cast<double>(kept_scores_.row(a)[b]);
      write(record, of_head(view, row), rows);
    }
  }
}

void AttendWorker::write_outputs(const Record& record, const TraceView& view, ConstMatrix outputs,
                                 Rows& rows) const {
  for (size_t a = 0; a < outputs.rows; ++a) {
    if (!shown(units_[a])) continue;
    const OutputRow row{units_[a].index, units_[a].text, {outputs.row(a), outputs.cols}};
    write(record, of_head(view, row), rows);
  }
}

void AttendWorker::write_stats(const Record& record, const Encoding& encoding,
                               const TraceView& view, Rows& rows) const {
  size_t count = 0;
  const AttentionStats s = stats(encoding, view.values, count);
  if (count == 0) return;
  if (options_.json) {
    add_object(rows, of_head(view, s));
  } else {
    write(record, of_head(view, s), rows);
  }
}

}  // namespace bert
