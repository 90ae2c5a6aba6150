#include "tasks/attend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/json.h"

namespace bert {
namespace {

/// Whether each row is a distribution: scores that are not finite leave NaN, or zeros alone.
bool is_sound(ConstMatrix weights) {
  for (size_t from = 0; from < weights.rows; ++from) {
    const float* row = weights.row(from);
    const float sum = std::accumulate(row, row + weights.cols, 0.f);
    if (!(std::abs(sum - 1) < 0.01f)) return false;
  }
  return true;
}

/// Weights come while a batch is computed, layer by layer: rows in the order of records want each
/// record alone.
TaskOptions one_by_one(TaskOptions options) {
  options.max_batch_tokens = 1;
  return options;
}

}  // namespace

AttendWorker::AttendWorker(const Tokenizer& tokenizer, const Model& model,
                           const AttendOptions& attend, const TaskOptions& options)
    : TaskWorker(tokenizer, &model, one_by_one(options)), attend_(attend) {
  refuse_windows();
}

void AttendWorker::run(std::span<const Record> records, Rows& rows) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) encode(records[i], false, i);
  size_t now = 0, mark = rows.bytes().size();
  bool sound = true;
  ForwardOptions options;
  options.last_layer = *std::max_element(attend_.layers.begin(), attend_.layers.end());
  options.trace.request = Traced::probabilities;
  options.trace.layers = attend_.layers;
  for (const size_t head : attend_.heads) options.trace.heads.push_back(head - 1);
  options.trace.show = [&](const TraceView& view) {
    const ConstMatrix weights = view.values;  // [n, n]
    sound = sound && is_sound(weights);
    if (!options_.json) {
      write_rows(records[now], encodings()[now], view.layer, view.head + 1, weights, rows);
      return;
    }
    if (rows.bytes().size() == mark) write_tokens(records[now], encodings()[now], rows);
    write_matrix(view.layer, view.head + 1, weights, rows);
  };
  const auto end_record = [&](size_t, const PackedBatch&, Matrix) {
    if (!sound) note_non_finite(records[now]);
    if (options_.json) {
      JsonRow(rows.raw()).end_list();
      end_json(rows);
    }
    ++now;
    mark = rows.bytes().size();
    sound = true;
  };
  for_each_batch(end_record, options);
}

/// The beginning of an object, up to its matrices.
void AttendWorker::write_tokens(const Record& record, const Encoding& encoding, Rows& rows) const {
  JsonRow json = begin_json(rows, record, false).list("tokens");
  for (const int32_t id : encoding.input_ids) json.text("", tokenizer_.token(id));
  json.end_list().list("attention");
}

void AttendWorker::write_matrix(size_t layer, size_t head, ConstMatrix weights, Rows& rows) const {
  JsonRow json(rows.raw());
  json.object().count("layer", layer).count("head", head).list("weights");
  for (size_t from = 0; from < weights.rows; ++from) {
    json.exact("", std::span(weights.row(from), weights.cols));
  }
  json.end_list().end_object();
}

void AttendWorker::write_rows(const Record& record, const Encoding& encoding, size_t layer,
                              size_t head, ConstMatrix weights, Rows& rows) {
  const size_t n = weights.rows;
  const auto token = [&](size_t t) { return tokenizer_.token(encoding.input_ids[t]); };
  for (size_t from = 0; from < n; ++from) {
    if (!attend_.from.empty() && token(from) != attend_.from) continue;
    const float* weight = weights.row(from);
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (attend_.most > 0) {
      const auto key = [weight](size_t t) { return std::isnan(weight[t]) ? -1 : weight[t]; };
      std::stable_sort(order_.begin(), order_.end(),
                       [key](size_t a, size_t b) { return key(a) > key(b); });
      order_.resize(std::min(attend_.most, n));
    }
    for (const size_t to : order_) {
      begin_row(rows, record);
      rows.field(layer).field(head).field(from).field(to);
      rows.number(static_cast<double>(weight[to])).field(token(from)).field(token(to));
      end_row(rows, record);
    }
  }
}

}  // namespace bert
