#include "rows/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace bert {

void SparseWorker::run(std::span<const Record> records, Rows& rows) {
  clear_texts();
  for (size_t i = 0; i < records.size(); ++i) read(records[i], false, i);
  vectors_->predict(sequences_, records.size(), [&](size_t i, std::span<const float> weights) {
    take(records[i], weights, rows);
  });
}

/// The weights above 0, the largest first, equal ones in the order of ids; NaN before all.
void SparseWorker::collect_items(std::span<const float> weights) {
  items_.clear();
  for (size_t v = 0; v < weights.size(); ++v) {
    if (weights[v] != 0) items_.push_back({static_cast<int32_t>(v), weights[v]});
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

void SparseWorker::take(const Record& record, std::span<const float> weights, Rows& rows) {
  if (!is_finite(weights)) note_non_finite(record);
  collect_items(weights);
  SparseRow row;
  for (const Item& item : items_) row.items.emplace_back(name(item.id), item.weight);
  write(record, row, rows, Repeats::cut);
}

void SparseRow::cells(Cells& c) const {
  if (auto json = c.members()) {
    json->object("vector");
    for (const auto& [token, weight] : items) json->entry(token).exact("", weight);
    json->end_object();
    return;
  }
  std::string joined;
  for (const auto& [token, weight] : items) {
    if (!joined.empty()) joined += ' ';
    joined.append(token).append(":");
    joined += std::isnan(weight) ? "nan" : fmt::format("{}", weight);
  }
  c.text("vector", joined);
}

}  // namespace bert
