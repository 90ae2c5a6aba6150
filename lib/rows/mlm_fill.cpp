#include "rows/mlm_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "ops/kernels.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

/// NaN if a logit is NaN, else 0.
double nan_among(std::span<const float> logits) {
  const bool found = std::any_of(logits.begin(), logits.end(), [](float x) { return x != x; });
  return found ? std::nan("") : 0;
}

}  // namespace

MlmFillWorker::MlmFillWorker(const Tokenizer& tokenizer, const Model& model, const MaskedLM& head,
                             const FillPlan& plan, FillSummary* summary, const TaskOptions& options)
    : MlmWorker(tokenizer, options, plan.options.tokens),
      plan_(plan),
      summary_(summary),
      queries_(model, head, options.max_batch_tokens),
      fillable_(fillable_tokens(tokenizer)) {
  if (tokenizer.mask_id() < 0) {
    throw Error(Error::Kind::data, model.directory().path(), "its vocabulary has no mask token");
  }
  queries_.set_temperature(plan.options.temperature);
}

void MlmFillWorker::run(std::span<const Record> records, Rows& rows) {
  if (!plan_.options.calibration.empty() && !calibrated_) calibrate();
  gaps_.clear();
  puzzles_.clear();
  items_.resize(std::max(items_.size(), records.size()));
  for (size_t i = 0; i < records.size(); ++i) {
    prepare(records[i], items_[i]);
    read_targets(items_[i]);
    find_gaps(items_[i], i);
    read_truth(items_[i]);
    add_puzzles(items_[i]);
  }
  if (plan_.options.truth != FillTruth::none || plan_.scores_targets()) {
    score_candidates();
  } else if (plan_.options.joint) {
    fill_together();
  } else if (plan_.options.max_pieces > 1) {
    fill_with_pieces();
  } else {
    fill_independently();
  }
  for (size_t i = 0; i < records.size(); ++i) write_item(items_[i], rows);
}

void MlmFillWorker::prepare(const Record& record, Item& item) {
  item.record = &record;
  item.text = record.text;
  Offset own{0, UINT32_MAX};
  if (!plan_.options.prompt.empty()) {
    const size_t at = plan_.options.prompt.find("{}");
    item.prompt = plan_.options.prompt;
    item.prompt.replace(at, 2, record.text);
    item.text = item.prompt;
    own = {static_cast<uint32_t>(at), static_cast<uint32_t>(at + record.text.size())};
  }
  tokenize(record, item.text, item.tokens, own);
}

/// The candidates of the record's own field, separated by commas.
void MlmFillWorker::read_targets(Item& item) {
  item.targets.clear();
  if (!plan_.options.targets_field) return;
  for (const std::string_view word : split(item.record->extra[0], ',')) {
    try {
      item.targets.push_back(
          FillPlan::target_of(std::string(word), tokenizer_, options_.encode.max_length));
    } catch (const Error& error) {
      item.record->fail(Error::Kind::data, error.what());
    }
  }
}

const std::vector<FillPlan::Target>& MlmFillWorker::targets_of(const Item& item) const {
  return plan_.options.targets_field ? item.targets : plan_.targets;
}

void MlmFillWorker::find_masks(Item& item) {
  item.masks.clear();
  const bool cut = item.tokens.encoding.dropped > 0;
  if (cut) tokenize_whole(*item.record, item.text, whole_);
  const TokenizedText& tokens = cut ? whole_ : item.tokens;
  for (size_t t = 0; t < tokens.count(); ++t) {
    if (tokens.id(t) != tokenizer_.mask_id()) continue;
    Mask mask;
    mask.bytes = tokens.offset(t);
    mask.before = t > 0 ? std::min(tokens.offset(t - 1).end, mask.bytes.begin) : 0;
    const size_t begin = without_blank(item.text, mask.bytes).begin;
    const std::string_view between = item.text.substr(mask.before, begin - mask.before);
    mask.behind_blank = between.find(' ') != between.npos;
    item.masks.push_back(mask);
  }
}

void MlmFillWorker::find_gaps(Item& item, size_t index) {
  find_masks(item);
  item.first_gap = gaps_.size();
  size_t mask = 0;
  for (size_t t = 0; t < item.tokens.count(); ++t) {
    if (item.tokens.id(t) != tokenizer_.mask_id()) continue;
    while (item.masks[mask].bytes != item.tokens.offset(t)) ++mask;
    Gap gap;
    static_cast<Mask&>(gap) = item.masks[mask];
    gap.item = index;
    gap.token = t;
    gap.index = mask++;
    const std::vector<FillPlan::Target>& targets = targets_of(item);
    for (size_t i = 0; i < targets.size(); ++i) {
      const FillPlan::Target& target = targets[i];
      gap.candidates.push_back({gap.behind_blank ? target.behind_blank : target.pieces, 0, i});
    }
    gaps_.push_back(std::move(gap));
  }
  item.gaps = gaps_.size() - item.first_gap;
}

void MlmFillWorker::read_truth(const Item& item) {
  const Record& record = *item.record;
  const std::span<Gap> gaps = gaps_of(item);
  if (plan_.options.truth == FillTruth::labels) {
    for (const auto& [index, id] : parse_labels(record, record.extra[0])) {
      for (Gap& gap : gaps) {
        if (item.tokens.index(gap.token) == index) gap.candidates.push_back({{id}, 0, kNoTarget});
      }
    }
  } else if (plan_.options.truth == FillTruth::text && !gaps.empty()) {
    EncodeOptions encode;
    encode.add_special_tokens = false;
    Encoding truth;
    if (item.masks[0].behind_blank) {
      encode_behind_blank(tokenizer_, record.extra[0], encode, truth, scratch_);
    } else {
      tokenizer_.encode(record.extra[0], encode, truth, scratch_);
    }
    const size_t masks = item.masks.size();  // also those that are cut
    const size_t room = options_.encode.max_length - tokenizer_.added_tokens_single();
    if (masks == 1 && truth.size() > 0 && truth.size() <= room) {
      gaps[0].candidates.push_back({truth.input_ids, 0, kNoTarget});
    } else if (masks == truth.size()) {
      for (Gap& gap : gaps) gap.candidates.push_back({{truth.input_ids[gap.index]}, 0, kNoTarget});
    } else {
      record.fail(Error::Kind::data, fmt::format("the truth '{}' is {} tokens for {} masks",
                                                 printable(record.extra[0]), truth.size(), masks));
    }
  }
}

void MlmFillWorker::add_puzzles(const Item& item) {
  const std::vector<TokenWindow> windows = windows_of(item.tokens);
  const std::span<Gap> gaps = gaps_of(item);
  for (size_t w = 0; w < windows.size(); ++w) {
    Puzzle puzzle;
    for (size_t g = 0; g < gaps.size(); ++g) {
      if (mask_window(windows, gaps[g].token) != w) continue;
      gaps[g].puzzle = puzzles_.size();
      gaps[g].slot = puzzle.positions.size();
      puzzle.positions.push_back(item.tokens.front + gaps[g].token - windows[w].first);
      puzzle.gaps.push_back(item.first_gap + g);
    }
    if (puzzle.gaps.empty()) continue;
    item.tokens.ids_of(windows[w], puzzle.input_ids);
    puzzle.front = item.tokens.front;
    puzzle.back = item.tokens.back;
    puzzles_.push_back(std::move(puzzle));
  }
}

void MlmFillWorker::fill_independently() {
  const size_t wanted = std::max<size_t>(1, plan_.options.top_k);
  queries_.start([&](size_t g, std::span<const float> logits) {
    // Who wants the best piece only needs no probability.
    const bool scored = plan_.options.top_k > 0 || options_.json;
    const double normalizer = scored ? log_sum_exp(logits) : nan_among(logits);
    const std::span<const double> base = base_logprobs_;
    Gap& gap = gaps_[g];
    if (options_.json) gap.entropy = entropy_of(logits, normalizer);
    if (base.empty()) {
      top_ids(logits, wanted, fillable_, top_);
    } else {
      std::vector<float> ratios(logits.begin(), logits.end());
      for (size_t i = 0; i < ratios.size(); ++i) ratios[i] -= static_cast<float>(base[i]);
      top_ids(ratios, wanted, fillable_, top_);
    }
    for (const ScoredId& best : top_) {
      gap.candidates.push_back({{best.id}, best.logprob - normalizer, kNoTarget});
    }
  });
  for (const Puzzle& puzzle : puzzles_) {
    wanted_.clear();
    for (size_t s = 0; s < puzzle.gaps.size(); ++s) {
      wanted_.push_back({puzzle.positions[s], puzzle.gaps[s]});
    }
    queries_.ask(puzzle.input_ids, wanted_);
  }
  queries_.finish();
}

void MlmFillWorker::fill_together() {
  std::vector<JointProblem> problems;
  for (const Puzzle& puzzle : puzzles_) problems.push_back({puzzle.input_ids, puzzle.positions});
  const size_t beam = std::max(plan_.options.beam, plan_.options.top_k);
  const auto solutions = fill_jointly(queries_, problems, beam, plan_.options.order, fillable_);
  const size_t wanted = std::max<size_t>(1, plan_.options.top_k);
  for (size_t p = 0; p < puzzles_.size(); ++p) {
    for (size_t r = 0; r < std::min(wanted, solutions[p].size()); ++r) {
      for (size_t s = 0; s < puzzles_[p].gaps.size(); ++s) {
        gaps_[puzzles_[p].gaps[s]].candidates.push_back(
            {{solutions[p][r].pieces[s]}, solutions[p][r].logprob, kNoTarget});
      }
    }
  }
}

/// Each gap alone as 1, 2 .. max_pieces masks; the other gaps stay one mask each.
void MlmFillWorker::fill_with_pieces() {
  std::vector<JointProblem> problems;
  for (const Puzzle& puzzle : puzzles_) {
    for (size_t s = 0; s < puzzle.gaps.size(); ++s) {
      for (size_t n = 1; n <= plan_.options.max_pieces; ++n) {
        problems.push_back(widened(puzzle, s, n));
      }
    }
  }
  const size_t wanted = std::max<size_t>(1, plan_.options.top_k);
  const size_t beam = std::max(plan_.options.beam, wanted);
  const auto solutions = fill_jointly(queries_, problems, beam, plan_.options.order, fillable_);
  size_t p = 0;
  for (const Puzzle& puzzle : puzzles_) {
    for (const size_t g : puzzle.gaps) {
      Gap& gap = gaps_[g];
      for (size_t n = 1; n <= plan_.options.max_pieces; ++n, ++p) {
        for (const JointSolution& solution : solutions[p]) {
          gap.candidates.push_back(
              {solution.pieces, solution.logprob / static_cast<double>(n), kNoTarget});
        }
      }
      rank_candidates(gap);
      if (gap.candidates.size() > wanted) gap.candidates.resize(wanted);
    }
  }
}

/// The puzzle with `pieces` masks in place of mask `slot`; text at the farther end makes room.
JointProblem MlmFillWorker::widened(const Puzzle& puzzle, size_t slot, size_t pieces) const {
  JointProblem problem{puzzle.input_ids, {}};
  std::vector<int32_t>& ids = problem.input_ids;
  size_t position = puzzle.positions[slot];
  ids.insert(ids.begin() + static_cast<ptrdiff_t>(position), pieces - 1, tokenizer_.mask_id());
  while (ids.size() > options_.encode.max_length) {
    const size_t last = ids.size() - puzzle.back - 1;
    const bool from_end = last - (position + pieces - 1) >= position - puzzle.front;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(from_end ? last : puzzle.front));
    if (!from_end) --position;
  }
  for (size_t i = 0; i < pieces; ++i) problem.positions.push_back(position + i);
  return problem;
}

/// ln P of each candidate: the sum over its n pieces of ln P(piece i | the text with the pieces
/// before i in place and masks for i and those after it).
void MlmFillWorker::score_candidates() {
  steps_.clear();
  queries_.start([this](size_t tag, std::span<const float> logits) {
    if (tag < gaps_.size()) {
      for (size_t c = 0; c < gaps_[tag].candidates.size(); ++c) {
        if (gaps_[tag].candidates[c].pieces.size() == 1) judge({tag, c, 0}, logits);
      }
    } else {
      judge(steps_[tag - gaps_.size()], logits);
    }
  });
  for (const Puzzle& puzzle : puzzles_) {
    wanted_.clear();
    for (size_t s = 0; s < puzzle.gaps.size(); ++s) {
      const auto& candidates = gaps_[puzzle.gaps[s]].candidates;
      if (std::any_of(candidates.begin(), candidates.end(),
                      [](const Candidate& c) { return c.pieces.size() == 1; })) {
        wanted_.push_back({puzzle.positions[s], puzzle.gaps[s]});
      }
    }
    if (!wanted_.empty()) queries_.ask(puzzle.input_ids, wanted_);
    for (const size_t g : puzzle.gaps) {
      for (size_t c = 0; c < gaps_[g].candidates.size(); ++c) {
        if (gaps_[g].candidates[c].pieces.size() > 1) ask_pieces(g, c);
      }
    }
  }
  queries_.finish();
  if (plan_.options.truth != FillTruth::none) return;
  for (Gap& gap : gaps_) {
    for (Candidate& candidate : gap.candidates) {
      if (!base_target_logprobs_.empty()) {
        candidate.logprob -= base_target_logprobs_[candidate.target];
      }
    }
    if (plan_.label_targets.empty()) rank_candidates(gap);
  }
}

void MlmFillWorker::ask_pieces(size_t gap, size_t candidate) {
  const std::vector<int32_t>& pieces = gaps_[gap].candidates[candidate].pieces;
  JointProblem problem = widened(puzzles_[gaps_[gap].puzzle], gaps_[gap].slot, pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const WantedRow row{problem.positions[i], gaps_.size() + steps_.size()};
    steps_.push_back({gap, candidate, i});
    queries_.ask(problem.input_ids, {&row, 1});
    if (plan_.options.target_score == TargetScore::joint)
      problem.input_ids[problem.positions[i]] = pieces[i];
  }
}

void MlmFillWorker::judge(const Step& step, std::span<const float> logits) {
  Gap& gap = gaps_[step.gap];
  Candidate& candidate = gap.candidates[step.candidate];
  const int32_t piece = candidate.pieces[step.piece];
  const double normalizer = log_sum_exp(logits);
  const double logprob = static_cast<double>(logits[static_cast<size_t>(piece)]) - normalizer;
  const bool mean = plan_.options.target_score == TargetScore::mean;
  candidate.logprob += mean ? logprob / static_cast<double>(candidate.pieces.size()) : logprob;
  if (plan_.options.truth == FillTruth::none) return;
  gap.rank = std::max(gap.rank, rank_of(logits, piece, fillable_));
  if (step.piece == 0) {
    gap.entropy = entropy_of(logits, normalizer);
    top_ids(logits, 1, fillable_, top_);
    gap.best = top_.empty() ? 0 : top_.front().id;
  }
}

void MlmFillWorker::rank_candidates(Gap& gap) const {
  std::stable_sort(gap.candidates.begin(), gap.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.logprob > b.logprob; });
}

/// Runs the prompt without content once and keeps what it predicts.
void MlmFillWorker::calibrate() {
  Record record;
  const std::string where = "`calibration`";
  record.file = &where;
  record.number_in_file = 1;  // and no number over all files: it counts as none
  gaps_.clear();
  puzzles_.clear();
  items_.resize(std::max<size_t>(items_.size(), 1));
  items_[0].record = &record;
  items_[0].text = plan_.options.calibration;
  tokenize(record, items_[0].text, items_[0].tokens);
  find_gaps(items_[0], 0);
  if (gaps_.size() != 1) {
    throw Error::of_field("calibration",
                          fmt::format("found {} masks in the prompt, wants 1", gaps_.size()));
  }
  add_puzzles(items_[0]);
  if (plan_.targets.empty()) {
    queries_.start([this](size_t, std::span<const float> logits) {
      const double normalizer = log_sum_exp(logits);
      for (const float logit : logits) base_logprobs_.push_back(logit - normalizer);
    });
    const WantedRow row{puzzles_[0].positions[0], 0};
    queries_.ask(puzzles_[0].input_ids, {&row, 1});
    queries_.finish();
  } else {
    score_candidates();
    std::vector<double> base(plan_.targets.size());
    for (const Candidate& candidate : gaps_[0].candidates)
      base[candidate.target] = candidate.logprob;
    base_target_logprobs_ = std::move(base);
  }
  calibrated_ = true;
}

}  // namespace bert
