#include "seq2seq/searched_source.h"

#include <algorithm>
#include <cmath>

namespace bert {
namespace {

using Ids = std::vector<int32_t>;
using Values = std::span<const std::vector<Candidates::One>>;

class Greedy : public SearchedSource {
 public:
  Greedy(size_t index, const GenerationConfig& config, const TokenRules& rules)
      : SearchedSource(index), config_(config), rules_(rules), tokens_{config.start} {}

  size_t rows() const override { return 1; }
  std::span<const int32_t> tokens(size_t) const override { return tokens_; }
  size_t wanted() const override { return 1; }
  std::vector<Next> advance(Values values) override {
    // Without a candidate, all are -inf or NaN: the reference takes the first token.
    finite_ = finite_ && !values[0].empty();
    const int32_t token = values[0].empty() ? 0 : values[0][0].id;
    tokens_.push_back(token);
    if (rules_.is_end(token) || tokens_.size() >= config_.max_length) return {};
    return {{0, token}};
  }
  std::vector<Target> targets(size_t) const override {
    return {{Ids(tokens_.begin() + 1, tokens_.end()), 0, finite_}};
  }

 private:
  const GenerationConfig& config_;
  const TokenRules& rules_;
  Ids tokens_;
  bool finite_ = true;
};

/// Scores of hypotheses that are not to be chosen: the reference adds it, in floats.
constexpr float kOut = -1.0e9f;

class Beams : public SearchedSource {
 public:
  Beams(size_t index, const GenerationConfig& config, const TokenRules& rules, size_t vocab_size)
      : SearchedSource(index),
        config_(config),
        rules_(rules),
        vocab_size_(vocab_size),
        beams_(config.num_beams),
        kept_(std::max<size_t>(2, 1 + config.eos.size()) * config.num_beams),
        running_(beams_, {{config.start}, kOut, 0}),
        finished_(beams_) {
    running_[0].score = 0;
  }

  size_t rows() const override { return rows_; }
  std::span<const int32_t> tokens(size_t row) const override {
    return rows_ == 1 ? running_[0].tokens : running_[row].tokens;
  }
  size_t wanted() const override { return kept_; }
  std::vector<Next> advance(Values values) override;
  std::vector<Target> targets(size_t count) const override;

 private:
  struct Running {
    Ids tokens;
    float score = 0;
    size_t row = 0;
  };
  struct Finished {
    Ids tokens;
    float score = kOut;
    bool done = false;
  };
  struct Candidate {
    size_t beam;
    int32_t token;
    float score;
    bool ends = false;
  };
  std::vector<Candidate> candidates(Values values) const;
  void finish(const std::vector<Candidate>& candidates);
  bool can_improve() const;
  bool all_done() const {
    return std::all_of(finished_.begin(), finished_.end(),
                       [](const Finished& f) { return f.done; });
  }
  float by_length(float score, size_t length) const {
    return score /
           static_cast<float>(std::pow(static_cast<double>(length), config_.length_penalty));
  }
  bool stops_early() const { return config_.early_stopping == GenerationConfig::Early::yes; }

  const GenerationConfig& config_;
  const TokenRules& rules_;
  const size_t vocab_size_, beams_, kept_;
  std::vector<Running> running_;    ///< best first
  std::vector<Finished> finished_;  ///< best first
  size_t rows_ = 1;                 ///< all beams begin as one
  bool improving_ = true;
};

/// The best continuations of all beams; of equal scores the first in beams and vocabulary.
std::vector<Beams::Candidate> Beams::candidates(Values values) const {
  std::vector<Candidate> all;
  const size_t length = running_[0].tokens.size() + 1;
  for (size_t b = 0; b < running_.size(); ++b) {
    for (const Candidates::One& one : values[running_[b].row]) {
      const bool ends = length >= config_.max_length || rules_.is_end(one.id);
      all.push_back({b, one.id, one.logit + running_[b].score, ends});
    }
  }
  const auto better = [this](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.beam * vocab_size_ + static_cast<size_t>(a.token) <
           b.beam * vocab_size_ + static_cast<size_t>(b.token);
  };
  const size_t count = std::min(kept_, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(count), all.end(), better);
  all.resize(count);
  return all;
}

/// Merges the candidates that end with what is finished.
void Beams::finish(const std::vector<Candidate>& all) {
  const size_t length = running_[0].tokens.size();  // without the start token, with the new one
  const float closed = (stops_early() && all_done() ? kOut : 0) + (improving_ ? 0 : kOut);
  std::vector<Finished> merged = finished_;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool done = all[i].ends && i < beams_;
    const float score = by_length(all[i].score, length) + closed + (done ? 0 : kOut);
    Finished one{{}, score, done};
    if (done) {
      one.tokens = running_[all[i].beam].tokens;
      one.tokens.push_back(all[i].token);
    }
    merged.push_back(std::move(one));
  }
  std::stable_sort(merged.begin(), merged.end(),
                   [](const Finished& a, const Finished& b) { return a.score > b.score; });
  merged.resize(beams_);
  finished_ = std::move(merged);
}

/// Whether the best beam that runs may still be better than the worst finished one.
bool Beams::can_improve() const {
  if (running_.empty()) return false;
  if (!all_done()) return running_[0].score > -std::numeric_limits<float>::infinity();
  const bool longest =
      config_.early_stopping == GenerationConfig::Early::never && config_.length_penalty > 0;
  const size_t length = (longest ? config_.max_length : running_[0].tokens.size()) - 1;
  const auto worst =
      std::min_element(finished_.begin(), finished_.end(),
                       [](const Finished& a, const Finished& b) { return a.score < b.score; });
  return by_length(running_[0].score, length) > worst->score;
}

std::vector<SearchedSource::Next> Beams::advance(Values values) {
  std::vector<Candidate> all = candidates(values);
  finish(all);
  const bool over = std::all_of(all.begin(), all.end(), [](const Candidate& c) { return c.ends; });
  for (Candidate& candidate : all) candidate.score += candidate.ends ? kOut : 0;
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  all.resize(std::min(all.size(), beams_));
  std::vector<Running> running;
  std::vector<Next> next;
  for (const Candidate& candidate : all) {
    const Running& parent = running_[candidate.beam];
    next.push_back({parent.row, candidate.token});
    running.push_back({parent.tokens, candidate.score, running.size()});
    running.back().tokens.push_back(candidate.token);
  }
  running_ = std::move(running);
  rows_ = running_.size();
  improving_ = improving_ && can_improve();
  if (over || !improving_ || (stops_early() && all_done())) next.clear();
  return next;
}

std::vector<Target> Beams::targets(size_t count) const {
  std::vector<Target> found;
  for (const Finished& one : finished_) {
    if (one.done && found.size() < count) {
      found.push_back({Ids(one.tokens.begin() + 1, one.tokens.end()), one.score, true});
    }
  }
  return found;
}

}  // namespace

std::unique_ptr<SearchedSource> greedy_source(size_t index, const GenerationConfig& config,
                                              const TokenRules& rules) {
  return std::make_unique<Greedy>(index, config, rules);
}

std::unique_ptr<SearchedSource> beam_source(size_t index, const GenerationConfig& config,
                                            const TokenRules& rules, size_t vocab_size) {
  return std::make_unique<Beams>(index, config, rules, vocab_size);
}

}  // namespace bert
