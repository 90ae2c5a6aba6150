#include "seq2seq/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "ops/kernels.h"
#include "seq2seq/recomputed.h"
#include "seq2seq/searched_source.h"

namespace bert {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// New sources wait until a part of all rows is free: encoding several at once is cheaper.
constexpr size_t kRefillPart = 4;

}  // namespace

Search::Search(const Seq2Seq& model, GenerationConfig config, const SearchOptions& options)
    : model_(model),
      config_(std::move(config)),
      rules_(config_),
      options_(options),
      decoding_(options.cache ? model.start() : recomputed_decoding(model)) {}

Search::~Search() = default;

void Search::use_team(Team* team) {
  decoding_->use_team(team);
  output_.team = linear_.team = team;
}

void Search::run(const PackedBatch& sources, std::vector<std::vector<Target>>& found) {
  live_.clear();
  decoding_->select({});  // what an error of an earlier run has left
  found.assign(sources.sequences(), {});
  std::vector<size_t> order(sources.sequences());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources.length(a) > sources.length(b); });
  size_t next = 0;
  while (next < order.size() || !live_.empty()) {
    refill(sources, order, next);
    step();
    advance(found);
  }
}

void Search::refill(const PackedBatch& sources, const std::vector<size_t>& order, size_t& next) {
  const size_t places = std::max<size_t>(1, options_.max_rows / config_.num_beams);
  const size_t free = places - std::min(places, live_.size());
  const size_t rest = order.size() - next, count = std::min(free, rest);
  if (!live_.empty() && count < rest && free < (places + kRefillPart - 1) / kRefillPart) return;
  if (count == 0) return;
  PackedBatch added;
  for (const size_t end = next + count; next < end; ++next) {
    const size_t s = order[next];
    const auto ids = std::span(sources.input_ids).subspan(sources.begin(s), sources.length(s));
    added.append(ids, std::span(sources.token_type_ids).subspan(sources.begin(s), ids.size()));
    live_.push_back(config_.num_beams > 1 ? beam_source(s, config_, rules_, model_.output().size())
                                          : greedy_source(s, config_, rules_));
    tokens_.push_back(config_.start);
  }
  decoding_->add(added);
}

/// One step of all hypotheses, and the candidates of each row.
void Search::step() {
  const Matrix hidden = hidden_.matrix(tokens_.size(), model_.output().width());  // [R, D]
  decoding_->step(tokens_, hidden);
  values_.resize(tokens_.size());
  rules_.penalizes() ? choose_dense(hidden) : choose(hidden);
  size_t row = 0;
  for (const auto& source : live_) {
    for (size_t i = 0; i < source->rows(); ++i, ++row) {
      const auto only = rules_.forced(source->tokens(i));
      if (!only) continue;
      // Nothing else has a probability; each of these has the value 0.
      const float value = config_.renormalize_logits && !only->empty()
                              ? -std::log(static_cast<float>(only->size()))
                              : 0;
      values_[row].clear();
      for (const int32_t id : *only) values_[row].push_back({value, id});
    }
  }
}

void Search::choose(ConstMatrix hidden) {
  CandidateRequest request;
  request.count = live_[0]->wanted();
  request.sums = config_.num_beams > 1;
  request.banned_out = config_.renormalize_logits;
  banned_.resize(hidden.rows);
  size_t row = 0;
  for (const auto& source : live_) {
    for (size_t i = 0; i < source->rows(); ++i, ++row) {
      banned_[row].clear();
      rules_.ban(source->tokens(i), banned_[row]);
    }
  }
  request.banned = banned_;
  model_.output().best(hidden, request, candidates_, output_);
  for (size_t r = 0; r < hidden.rows; ++r) {
    std::swap(values_[r], candidates_.rows[r]);
    if (!request.sums) continue;
    if (!std::isfinite(candidates_.sums[r])) values_[r].clear();
    for (Candidates::One& one : values_[r]) {
      one.logit = static_cast<float>(double{one.logit} - candidates_.sums[r]);
    }
  }
}

/// The same with all values of each row in memory, which a penalty changes.
void Search::choose_dense(ConstMatrix hidden) {
  const size_t vocab_size = model_.output().size();
  const Matrix logits = logits_.matrix(hidden.rows, vocab_size);  // [R, V]
  model_.output().logits(hidden, logits, linear_);
  const auto normalize = [](std::span<float> values) {
    const double sum = log_sum_exp(values);
    for (float& value : values) value = static_cast<float>(double{value} - sum);
  };
  const bool beams = config_.num_beams > 1;
  std::vector<int32_t> banned, order(vocab_size);
  size_t row = 0;
  for (const auto& source : live_) {
    for (size_t i = 0; i < source->rows(); ++i, ++row) {
      const std::span<float> values(logits.row(row), vocab_size);
      if (beams) normalize(values);
      rules_.penalize(source->tokens(i), values);
      banned.clear();
      rules_.ban(source->tokens(i), banned);
      for (const int32_t id : banned) values[static_cast<size_t>(id)] = -kInfinity;
      if (beams && config_.renormalize_logits) normalize(values);
      std::iota(order.begin(), order.end(), 0);
      const size_t count = std::min(source->wanted(), vocab_size);
      const auto key = [&](int32_t id) {
        const float value = values[static_cast<size_t>(id)];
        return std::isnan(value) ? -kInfinity : value;
      };
      std::partial_sort(
          order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
          [&](int32_t a, int32_t b) { return key(a) > key(b) || (key(a) == key(b) && a < b); });
      values_[row].clear();
      for (size_t k = 0; k < count && key(order[k]) > -kInfinity; ++k) {
        values_[row].push_back({key(order[k]), order[k]});
      }
    }
  }
}

/// Hypotheses go on, sources that are done leave.
void Search::advance(std::vector<std::vector<Target>>& found) {
  std::vector<size_t> rows;
  tokens_.clear();
  size_t first = 0, before = values_.size();
  std::vector<std::unique_ptr<SearchedSource>> going;
  for (auto& source : live_) {
    const size_t count = source->rows();
    const auto next = source->advance(std::span(values_).subspan(first, count));
    for (const SearchedSource::Next& one : next) {
      rows.push_back(first + one.row);
      tokens_.push_back(one.token);
    }
    first += count;
    if (next.empty()) {
      found[source->index()] = source->targets(options_.best);
    } else {
      going.push_back(std::move(source));
    }
  }
  live_ = std::move(going);
  bool same = rows.size() == before;
  for (size_t i = 0; i < rows.size() && same; ++i) same = rows[i] == i;
  if (!same) decoding_->select(rows);
}

}  // namespace bert
