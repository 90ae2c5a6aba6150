// The rows of mlm-fill.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rows/fill_rows.h"
#include "rows/mlm_fill.h"

namespace bert {

/// A truth that the vocabulary lacks is no guess, however probable the unknown token is.
void MlmFillWorker::drop_unknown(const Item& item) {
  if (plan_.options.truth == FillTruth::none) return;
  for (Gap& gap : gaps_of(item)) {
    if (gap.candidates.empty()) continue;
    const std::vector<int32_t>& pieces = gap.candidates.front().pieces;
    gap.unknown = std::any_of(pieces.begin(), pieces.end(), [this](int32_t piece) {
      return !fillable_[static_cast<size_t>(piece)];
    });
    if (gap.unknown) gap.rank = fillable_.size();
  }
}

/// Weights that are no numbers fill nothing: the mask stays, and the truth is no guess.
void MlmFillWorker::drop_non_finite(const Item& item) {
  bool found = false;
  for (Gap& gap : gaps_of(item)) {
    if (gap.candidates.empty() || std::isfinite(gap.candidates.front().logprob)) continue;
    found = true;
    if (plan_.options.truth != FillTruth::none) {
      gap.rank = fillable_.size();
      gap.best = -1;
    } else if (plan_.label_targets.empty()) {
      gap.candidates.clear();
    }
  }
  if (found) note_non_finite(*item.record);
}

void MlmFillWorker::count(const Item& item) {
  summary_->records += item.gaps > 0;
  if (plan_.options.truth == FillTruth::none) return;
  for (const Gap& gap : gaps_of(item)) {
    if (gap.candidates.empty()) continue;
    const Candidate& truth = gap.candidates.front();
    ++summary_->masks;
    ++summary_->ranks[gap.rank];
    summary_->unknown.add(item.record->number, gap.unknown);
    summary_->reciprocal_rank.add(1.0 / static_cast<double>(gap.rank));
    if (gap.unknown) continue;
    summary_->pieces += truth.pieces.size();
    summary_->top1 += gap.rank == 1;
    summary_->top5 += gap.rank <= 5;
    summary_->surprisal.add(-truth.logprob);
    summary_->surprisals.push_back({-truth.logprob, static_cast<uint32_t>(truth.pieces.size())});
  }
}

void MlmFillWorker::write_item(const Item& item, Rows& rows) {
  drop_unknown(item);
  drop_non_finite(item);
  if (summary_) once(*item.record, [&] { count(item); });
  if (plan_.options.truth != FillTruth::none) {
    write_truth(item, rows);
  } else if (options_.json) {
    write_json(item, rows);
  } else if (!plan_.label_targets.empty()) {
    write_labels(item, rows);
  } else if (plan_.options.top_k > 0) {
    write_candidates(item, rows);
  } else {
    write(*item.record, FilledRow{filled(item, kNoTarget, 0)}, rows);
  }
}

/// The text with candidate `rank` in every mask, or in mask `only` alone.
std::string MlmFillWorker::filled(const Item& item, size_t only, size_t rank) const {
  std::string out;
  const std::span<const Gap> gaps = gaps_of(item);
  size_t done = 0, pieces = 0;  // where the pieces begin that stand last
  bool beside = false;
  const auto end_pieces = [&] {
    if (beside && !tokens_) mend_pieces(out, pieces);
    beside = false;
  };
  for (size_t g = 0; g < gaps.size(); ++g) {
    const bool left = (only != kNoTarget && only != g) || rank >= gaps[g].candidates.size();
    if (left) continue;
    if (gaps[g].bytes.begin > done) {
      end_pieces();
      out += item.text.substr(done, gaps[g].bytes.begin - done);
    }
    const size_t blanks = gaps[g].bytes.begin - std::max(gaps[g].before, done);
    const size_t least = out.size() - blanks;
    if (!beside) pieces = least;
    append_filling(out, item, gaps[g].candidates[rank], beside, least);
    done = gaps[g].bytes.end;
    beside = true;
  }
  end_pieces();
  out += item.text.substr(done);
  return out;
}

PieceJoin MlmFillWorker::join_of(int32_t piece, bool beside) const {
  if (tokenizer_.continues_word(piece)) return PieceJoin::glued;
  if (tokenizer_.marks_beginnings()) return PieceJoin::spaced;
  return beside ? PieceJoin::beside : PieceJoin::as_is;
}

void MlmFillWorker::append_filling(std::string& out, const Item& item, const Candidate& candidate,
                                   bool beside, size_t least) const {
  const std::vector<int32_t>& pieces = candidate.pieces;
  if (tokens_) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0) out += ' ';
      out += tokenizer_.token(pieces[i]);
    }
  } else if (candidate.target != kNoTarget) {
    const PieceJoin join = join_of(pieces.front(), beside);
    append_piece(out, targets_of(item)[candidate.target].text,
                 join == PieceJoin::glued ? PieceJoin::as_is : join, least);
  } else {
    for (const int32_t piece : pieces) {
      append_piece(out, tokenizer_.piece_text(piece), join_of(piece, beside), least);
      beside = true;
      least = out.size();
    }
  }
}

/// The vocabulary's token, the pieces separated by blanks, or the target as it was given.
std::string MlmFillWorker::token_text(const Item& item, const Candidate& candidate) const {
  if (candidate.target != kNoTarget) return targets_of(item)[candidate.target].text;
  std::string text;
  for (const int32_t piece : candidate.pieces) {
    if (!text.empty()) text += ' ';
    text += tokenizer_.token(piece);
  }
  return text;
}

void MlmFillWorker::write_candidates(const Item& item, Rows& rows) {
  const std::span<const Gap> gaps = gaps_of(item);
  for (size_t g = 0; g < gaps.size(); ++g) {
    const size_t count = std::min(plan_.options.top_k, gaps[g].candidates.size());
    for (size_t r = 0; r < count; ++r) {
      const Candidate& candidate = gaps[g].candidates[r];
      write(*item.record,
            CandidateRow{gaps[g].index + 1, r + 1, std::exp(candidate.logprob),
                         token_text(item, candidate),
                         filled(item, plan_.options.joint ? kNoTarget : g, r)},
            rows);
    }
  }
}

void MlmFillWorker::write_truth(const Item& item, Rows& rows) {
  for (const Gap& gap : gaps_of(item)) {
    if (gap.candidates.empty()) continue;
    const Candidate& truth = gap.candidates.front();
    write(*item.record,
          TruthRow{gap.index + 1, gap.rank, std::exp(truth.logprob), -truth.logprob, gap.entropy,
                   token_text(item, truth), gap.best < 0 ? "" : tokenizer_.token(gap.best)},
          rows);
  }
}

/// The mean over a label's words of their probability in the first mask, as shares of 1.
std::vector<std::pair<std::string_view, double>> MlmFillWorker::label_scores(
    const Item& item) const {
  std::vector<std::pair<std::string_view, double>> scores;
  if (item.gaps == 0) return scores;
  const std::vector<Candidate>& words = gaps_of(item)[0].candidates;
  double total = 0;
  for (size_t l = 0; l < plan_.label_targets.size(); ++l) {
    double sum = 0;
    for (const size_t target : plan_.label_targets[l]) sum += std::exp(words[target].logprob);
    sum /= static_cast<double>(plan_.label_targets[l].size());
    scores.emplace_back(plan_.options.verbalizers[l].label, sum);
    total += sum;
  }
  for (auto& score : scores) score.second /= total;
  std::stable_sort(scores.begin(), scores.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return scores;
}

void MlmFillWorker::write_labels(const Item& item, Rows& rows) {
  write(*item.record, LabelsRow{plan_.labels_shown(), plan_.options.top_k > 0, label_scores(item)},
        rows);
}

void MlmFillWorker::write_json(const Item& item, Rows& rows) {
  Record shown = *item.record;
  shown.text = item.text;
  Cells cells = begin(shown, rows, Repeats::text);
  FilledRow{filled(item, kNoTarget, 0)}.cells(cells);
  JsonRow json(rows.raw());
  if (!plan_.label_targets.empty()) {
    json.object("labels");
    for (const auto& [label, score] : label_scores(item)) {
      json.entry(label).number("", score);
    }
    json.end_object();
  }
  json.list("masks");
  for (const Gap& gap : gaps_of(item)) add_gap(item, gap, json);
  json.end_list();
  end(shown, rows);
}

void MlmFillWorker::add_gap(const Item& item, const Gap& gap, JsonRow& json) const {
  json.object().count("mask", gap.index + 1).count("index", item.tokens.index(gap.token));
  json.count("start", gap.bytes.begin).count("end", gap.bytes.end);
  if (gap.entropy > 0) json.number("entropy", gap.entropy);
  json.list("candidates");
  for (const Candidate& candidate : gap.candidates) {
    json.object().text("token", token_text(item, candidate)).list("ids");
    for (const int32_t piece : candidate.pieces) json.count("", piece);
    json.end_list().number("probability", std::exp(candidate.logprob));
    json.number("logprob", candidate.logprob).end_object();
  }
  json.end_list().end_object();
}

}  // namespace bert
