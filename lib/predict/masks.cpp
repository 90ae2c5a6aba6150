#include "predict/masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/kernels.h"

namespace bert {
namespace {

/// Rows of logits that are in memory at once, at most. Each pass over them reads the whole decoder.
constexpr size_t kLogitRows = 128;

}  // namespace

void MaskQueries::start(Use use) {
  use_ = std::move(use);
  batcher_.start();
  rows_.clear();
  waiting_rows_ = 0;
  tags_.clear();
}

void MaskQueries::ask(std::span<const int32_t> input_ids, std::span<const WantedRow> wanted) {
  types_.resize(std::max(types_.size(), input_ids.size()), 0);
  batcher_.add(input_ids, {types_.data(), input_ids.size()},
               [this](size_t, const PackedBatch& batch) { run(batch); });
  const size_t begin = batcher_.waiting() - input_ids.size();
  for (const WantedRow& row : wanted) {
    rows_.push_back(begin + row.position);
    tags_.push_back(row.tag);
  }
}

void MaskQueries::finish() {
  batcher_.finish([this](size_t, const PackedBatch& batch) { run(batch); });
  if (waiting_rows_ > 0) project();
}

void MaskQueries::run(const PackedBatch& batch) {
  const Matrix hidden = model_.forward_rows(batch, rows_, batcher_.workspace());  // [M, H]
  const Matrix waiting = waiting_.matrix(kLogitRows, hidden.cols);
  for (size_t r = 0; r < hidden.rows; ++r) {
    std::copy_n(hidden.row(r), hidden.cols, waiting.row(waiting_rows_++));
    if (waiting_rows_ == kLogitRows) project();
  }
  rows_.clear();
}

/// The logits of the rows that wait: of several batches, as each pass reads the whole decoder.
void MaskQueries::project() {
  const ConstMatrix hidden = waiting_.matrix(kLogitRows, model_.config().hidden_size);
  indices_.resize(waiting_rows_);
  std::iota(indices_.begin(), indices_.end(), size_t{0});
  const Matrix logits = head_.logits(hidden, indices_, batcher_.workspace());  // [B, V]
  if (temperature_ != 1) {
    for (size_t i = 0; i < logits.rows * logits.cols; ++i)
      logits.data[i] /= static_cast<float>(temperature_);
  }
  for (size_t r = 0; r < logits.rows; ++r) use_(tags_[r], {logits.row(r), logits.cols});
  tags_.erase(tags_.begin(), tags_.begin() + static_cast<ptrdiff_t>(waiting_rows_));
  waiting_rows_ = 0;
}

Fillable fillable_tokens(const Tokenizer& tokenizer) {
  Fillable fillable(tokenizer.vocab_size());
  for (size_t i = 0; i < fillable.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string_view token = tokenizer.token(id);
    const bool breaks_rows = token.find_first_of("\t\n") != token.npos;
    fillable[i] = !token.empty() && !breaks_rows && !tokenizer.is_special(id);
  }
  return fillable;
}

void top_ids(std::span<const float> values, size_t k, const Fillable& fillable,
             std::vector<ScoredId>& out) {
  out.clear();
  const auto before = [](const ScoredId& a, const ScoredId& b) {
    return a.logprob > b.logprob || (a.logprob == b.logprob && a.id < b.id);
  };
  const size_t limit = std::min(fillable.size(), values.size());
  k = std::min(k, limit);
  if (k == 0) return;
  // A heap of the k best with the worst of them on top.
  for (size_t i = 0; i < limit; ++i) {
    const double value = std::isnan(values[i]) ? -std::numeric_limits<double>::infinity()
                                               : static_cast<double>(values[i]);
    if (out.size() == k && value <= out.front().logprob) continue;
    if (!fillable[i]) continue;
    if (out.size() == k) {
      std::pop_heap(out.begin(), out.end(), before);
      out.pop_back();
    }
    out.push_back({static_cast<int32_t>(i), value});
    std::push_heap(out.begin(), out.end(), before);
  }
  std::sort_heap(out.begin(), out.end(), before);
}

size_t rank_of(std::span<const float> values, int32_t id, const Fillable& fillable) {
  const float own = values[static_cast<size_t>(id)];
  size_t rank = 1;
  for (size_t i = 0; i < std::min(values.size(), fillable.size()); ++i) {
    rank += values[i] > own && fillable[i];
  }
  return rank;
}

double entropy_of(std::span<const float> logits, double log_sum_exp) {
  double sum = 0;
  for (const float logit : logits) {
    const double logprob = logit - log_sum_exp;
    const double p = std::exp(logprob);
    if (p > 0) sum -= p * logprob;
  }
  return sum;
}

bool lacks_pieces(const Tokenizer& tokenizer, std::string_view text,
                  std::span<const int32_t> pieces) {
  const int32_t unknown = tokenizer.unk_id();
  return std::find(pieces.begin(), pieces.end(), unknown) != pieces.end() &&
         text.find(tokenizer.token(unknown)) == text.npos;
}

void fill_masks(MaskQueries& queries, int32_t mask_id, const Fillable& fillable,
                std::span<const Encoding> sequences, size_t k, const UseFilling& use) {
  std::vector<std::pair<size_t, size_t>> masks;  // sequence, position
  std::vector<ScoredId> best;
  std::vector<WantedRow> wanted;
  queries.start([&](size_t mask, std::span<const float> logits) {
    const double normalizer = log_sum_exp(logits);
    top_ids(logits, k, fillable, best);
    for (ScoredId& one : best) one.logprob -= normalizer;
    use(masks[mask].first, masks[mask].second, best);
  });
  for (size_t s = 0; s < sequences.size(); ++s) {
    const std::vector<int32_t>& ids = sequences[s].input_ids;
    wanted.clear();
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] != mask_id) continue;
      wanted.push_back({t, masks.size()});
      masks.emplace_back(s, t);
    }
    if (!wanted.empty()) queries.ask(ids, wanted);
  }
  queries.finish();
}

}  // namespace bert
