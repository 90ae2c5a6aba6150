#include "rows/fill_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/json_row.h"
#include "metrics/metrics.h"

namespace bert {

FillSummary& FillSummary::operator+=(const FillSummary& other) {
  records += other.records;
  masks += other.masks;
  pieces += other.pieces;
  unknown += other.unknown;
  top1 += other.top1;
  top5 += other.top5;
  reciprocal_rank.add(other.reciprocal_rank);
  surprisal.add(other.surprisal);
  surprisals.insert(surprisals.end(), other.surprisals.begin(), other.surprisals.end());
  for (const auto& [rank, count] : other.ranks) ranks[rank] += count;
  return *this;
}

std::string FillSummary::text(bool measured, const Counts& counts) const {
  if (!measured) {
    const bool read = counts.records > counts.bad + counts.blank;
    if (!read || records > 0) return "";
    return counts.overflowed > 0 ? "no mask in what was kept of the records: nothing to fill"
                                 : "no record has a mask: nothing to fill";
  }
  if (masks == 0) return "0 masks with a known truth";
  const Measures m = measures();
  return fmt::format("{} masks: top-1 {:.4f}, top-5 {:.4f}, MRR {:.4f}, perplexity {:.6g}", masks,
                     m.top1, m.top5, m.reciprocal_rank, m.perplexity);
}

FillSummary::Measures FillSummary::measures() const {
  const auto n = static_cast<double>(masks);
  const double mean = pieces == 0 ? std::nan("") : surprisal.value() / static_cast<double>(pieces);
  return {static_cast<double>(top1) / n, static_cast<double>(top5) / n, reciprocal_rank.value() / n,
          std::exp(mean)};
}

std::string FillSummary::report() const {
  const Measures m = measures();
  return fmt::format("masks\t{}\nunknown\t{}\ntop1\t{}\ntop5\t{}\nmrr\t{}\nperplexity\t{}\n", masks,
                     unknown.count, number_text(m.top1), number_text(m.top5),
                     number_text(m.reciprocal_rank), number_text(m.perplexity));
}

/// The interval of the perplexity, whatever the order of the masks.
Interval FillSummary::perplexity_interval(const Resampling& how) const {
  std::vector<std::pair<double, uint32_t>> sorted = surprisals;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<uint64_t> each(sorted.size(), 1);
  return bootstrap(each, 1, how, [&](auto times, auto values) {
    double sum = 0, all = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      sum += times[i] * sorted[i].first;
      all += static_cast<double>(times[i]) * sorted[i].second;
    }
    values[0] = std::exp(sum / all);
  })[0];
}

Doubt FillSummary::doubt(const Resampling& how) const {
  std::vector<uint64_t> counts;
  std::vector<double> reciprocals;
  for (const auto& [rank, count] : ranks) {
    counts.push_back(count);
    reciprocals.push_back(1 / static_cast<double>(rank));
  }
  const std::vector<Interval> found = bootstrap(counts, 1, how, [&](auto times, auto values) {
    values[0] = 0;
    for (size_t k = 0; k < reciprocals.size(); ++k) values[0] += times[k] * reciprocals[k];
    values[0] /= static_cast<double>(masks);
  });
  return {{{"top1", wilson(top1, masks)},
           {"top5", wilson(top5, masks)},
           {"mrr", found[0]},
           {"perplexity", perplexity_interval(how)}}};
}

std::string FillSummary::json(const Doubt& doubt) const {
  const Measures m = measures();
  std::string text;
  JsonRow json(text);
  json.object().count("masks", masks).count("unknown", unknown.count).number("top1", m.top1);
  json.number("top5", m.top5).number("mrr", m.reciprocal_rank);
  json.number("perplexity", m.perplexity);
  doubt.add_to(json);
  json.end_object();
  return text;
}

std::string FillSummary::text_of(const Doubt& doubt) {
  const auto text = [&](size_t m) {
    const Interval& interval = doubt.intervals[m].interval;
    return fmt::format("{:.4f} to {:.4f}", interval.low, interval.high);
  };
  const Interval& perplexity = doubt.intervals[3].interval;
  return fmt::format("95 %: top-1 {}, top-5 {}, MRR {}, perplexity {:.6g} to {:.6g}", text(0),
                     text(1), text(2), perplexity.low, perplexity.high);
}

std::string FillSummary::unknown_text() const {
  if (unknown.count == 0) return "";
  return fmt::format(
      "{} of {} truths have a token that fills no mask, such as the unknown token (first: record "
      "{}): they count as wrong, and not in the perplexity",
      unknown.count, masks, unknown.first);
}

}  // namespace bert
