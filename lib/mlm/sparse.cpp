#include "mlm/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace bert {
namespace {

/// The larger of two numbers, and NaN if one is NaN.
float larger(float a, float b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

void SparseWorker::run(std::span<const Record> records, Rows& rows) {
  encode_all(records);
  const size_t vocab_size = model_->config().vocab_size;
  window_.assign(vocab_size, 0.0f);
  text_.assign(vocab_size, 0.0f);
  size_t record = 0, window = 0;  // whose tokens come in
  const auto end_record = [&] {
    end_window();
    write(records[record++], rows);
    std::fill(text_.begin(), text_.end(), 0.0f);
  };
  queries_.start([&](size_t encoding, std::span<const float> logits) {
    while (record < owners_[encoding]) end_record();
    if (window != encoding) end_window();
    window = encoding;
    add_token(logits);
  });
  ask_all();
  while (record < records.size()) end_record();
}

void SparseWorker::encode_all(std::span<const Record> records) {
  clear_encodings();
  for (size_t i = 0; i < records.size(); ++i) {
    Record record = records[i];
    if (!plan_.prompt.empty()) {
      prompted_.assign(plan_.prompt).append(record.text);
      record.text = prompted_;
    }
    encode(record, false, i, plan_.prompt.size());
  }
}

/// Asks for the logits of all tokens. They come a few rows at a time, and none are kept.
void SparseWorker::ask_all() {
  for (size_t i = 0; i < encodings().size(); ++i) {
    const std::vector<int32_t>& ids = encodings()[i].input_ids;
    if (ids.empty()) continue;
    wanted_.clear();
    for (size_t t = 0; t < ids.size(); ++t) wanted_.push_back({t, i});
    queries_.ask(ids, wanted_);
  }
  queries_.finish();
}

/// Of a logit above 0.
float SparseWorker::weight(float logit) const {
  const float once = std::log1p(logit);
  return plan_.pooling.log_twice ? std::log1p(once) : once;
}

/// A weight grows with its logit, so the maximum of the logits is enough.
void SparseWorker::add_token(std::span<const float> logits) {
  if (!plan_.pooling.sum) {
    for (size_t v = 0; v < logits.size(); ++v) window_[v] = larger(window_[v], logits[v]);
    return;
  }
  for (size_t v = 0; v < logits.size(); ++v) {
    if (!(logits[v] <= 0)) window_[v] += weight(logits[v]);
  }
}

void SparseWorker::end_window() {
  for (size_t v = 0; v < window_.size(); ++v) {
    if (window_[v] == 0) continue;
    text_[v] = larger(text_[v], plan_.pooling.sum ? window_[v] : weight(window_[v]));
    window_[v] = 0;
  }
}

/// The weights above 0, the largest first, equal ones in the order of ids; NaN before all.
void SparseWorker::collect_items() {
  items_.clear();
  for (size_t v = 0; v < text_.size(); ++v) {
    if (text_[v] != 0) items_.push_back({static_cast<int32_t>(v), text_[v]});
  }
  const auto rank = [](float weight) {
    return std::isnan(weight) ? std::numeric_limits<float>::infinity() : weight;
  };
  const auto before = [&](const Item& a, const Item& b) {
    return rank(a.weight) > rank(b.weight) || (rank(a.weight) == rank(b.weight) && a.id < b.id);
  };
  const size_t kept = plan_.top_k > 0 ? std::min(plan_.top_k, items_.size()) : items_.size();
  std::partial_sort(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(kept), items_.end(),
                    before);
  items_.resize(kept);
}

/// Items are separated by blanks, so a token that is empty or has one is named by its id.
std::string SparseWorker::name(int32_t id) const {
  if (plan_.ids) return std::to_string(id);
  const bool known = static_cast<size_t>(id) < tokenizer_.vocab_size();
  const std::string_view token = known ? tokenizer_.token(id) : std::string_view();
  if (token.empty() || token.find_first_of(std::string_view(" \t\n\r\0", 5)) != token.npos) {
    return fmt::format("#{}", id);
  }
  return std::string(token);
}

void SparseWorker::write(const Record& record, Rows& rows) {
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(text_.begin(), text_.end(), is_finite)) note_non_finite(record);
  collect_items();
  if (options_.json) {
    JsonRow json(rows.raw());
    json.object().count("record", record.number);
    write_cut(json, record);
    json.object("vector");
    for (const Item& item : items_) json.entry(name(item.id)).exact("", item.weight);
    json.end_object();
    end_json(rows);
    return;
  }
  begin_row(rows, record);
  rows.field(std::string_view());
  for (const Item& item : items_) {
    if (&item != items_.data()) rows.raw() += ' ';
    const std::string weight = std::isnan(item.weight) ? "nan" : fmt::format("{}", item.weight);
    rows.raw().append(name(item.id)).append(":").append(weight);
  }
  end_row(rows, record);
}

}  // namespace bert
