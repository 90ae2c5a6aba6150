#include "predict/joint_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ops/kernels.h"

namespace bert {
namespace {

constexpr int32_t kOpen = -1;  ///< a mask that is not filled yet

/// A partial solution and what the model says about its next mask.
struct State {
  std::vector<int32_t> pieces;  ///< kOpen where the mask still stands
  double logprob = 0;
  size_t next = 0;  ///< index of the mask to fill
  std::vector<ScoredId> best;
};

/// A row of logits: which mask of which state.
struct Asked {
  State* state;
  size_t mask;
};

class Search {
 public:
  Search(MaskQueries& queries, const std::vector<JointProblem>& problems, size_t beam,
         FillOrder order, const Fillable& fillable)
      : queries_(queries), problems_(problems), beam_(beam), order_(order), fillable_(fillable) {
    for (const JointProblem& problem : problems) {
      states_.push_back({State{std::vector<int32_t>(problem.positions.size(), kOpen), 0, 0, {}}});
    }
  }

  std::vector<std::vector<JointSolution>> run() {
    size_t steps = 0;
    for (const JointProblem& problem : problems_) steps = std::max(steps, problem.positions.size());
    for (size_t step = 0; step < steps; ++step) {
      predict(step);
      for (size_t p = 0; p < problems_.size(); ++p) {
        if (step < problems_[p].positions.size()) expand(states_[p]);
      }
    }
    std::vector<std::vector<JointSolution>> solutions(problems_.size());
    for (size_t p = 0; p < problems_.size(); ++p) {
      for (State& state : states_[p]) {
        solutions[p].push_back({std::move(state.pieces), state.logprob});
      }
    }
    return solutions;
  }

 private:
  void predict(size_t step) {
    asked_.clear();
    queries_.start(
        [this](size_t tag, std::span<const float> logits) { judge(asked_[tag], logits); });
    for (size_t p = 0; p < problems_.size(); ++p) {
      if (step >= problems_[p].positions.size()) continue;
      for (State& state : states_[p]) ask(problems_[p], state);
    }
    queries_.finish();
  }

  void ask(const JointProblem& problem, State& state) {
    ids_ = problem.input_ids;
    wanted_.clear();
    state.best.clear();
    for (size_t m = 0; m < state.pieces.size(); ++m) {
      if (state.pieces[m] != kOpen) {
        ids_[problem.positions[m]] = state.pieces[m];
      } else if (order_ == FillOrder::confidence || wanted_.empty()) {
        wanted_.push_back({problem.positions[m], asked_.size()});
        asked_.push_back({&state, m});
      }
    }
    queries_.ask(ids_, wanted_);
  }

  /// Keeps the best pieces of the mask of which the model is surest.
  void judge(const Asked& asked, std::span<const float> logits) {
    const double normalizer = log_sum_exp(logits);
    top_ids(logits, beam_, fillable_, top_);
    for (ScoredId& scored : top_) {
      scored.logprob -= normalizer;
      if (std::isnan(scored.logprob)) scored.logprob = -std::numeric_limits<double>::infinity();
    }
    State& state = *asked.state;
    if (top_.empty()) return;
    if (state.best.empty() || top_.front().logprob > state.best.front().logprob) {
      state.best = top_;
      state.next = asked.mask;
    }
  }

  void expand(std::vector<State>& states) const {
    std::vector<State> grown;
    for (const State& state : states) {
      for (const ScoredId& scored : state.best) {
        State next{state.pieces, state.logprob + scored.logprob, 0, {}};
        next.pieces[state.next] = scored.id;
        grown.push_back(std::move(next));
      }
    }
    std::stable_sort(grown.begin(), grown.end(),
                     [](const State& a, const State& b) { return a.logprob > b.logprob; });
    states.clear();
    std::set<std::vector<int32_t>> seen;  // two orders of filling may meet
    for (State& state : grown) {
      if (!seen.insert(state.pieces).second) continue;
      states.push_back(std::move(state));
      if (states.size() == beam_) break;
    }
  }

  MaskQueries& queries_;
  const std::vector<JointProblem>& problems_;
  const size_t beam_;
  const FillOrder order_;
  const Fillable& fillable_;
  std::vector<std::vector<State>> states_;  ///< [problems][at most beam]
  std::vector<Asked> asked_;
  std::vector<int32_t> ids_;
  std::vector<WantedRow> wanted_;
  std::vector<ScoredId> top_;
};

}  // namespace

std::vector<std::vector<JointSolution>> fill_jointly(MaskQueries& queries,
                                                     const std::vector<JointProblem>& problems,
                                                     size_t beam, FillOrder order,
                                                     const Fillable& fillable) {
  return Search(queries, problems, beam, order, fillable).run();
}

}  // namespace bert
