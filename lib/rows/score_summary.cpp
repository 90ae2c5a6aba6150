#include "rows/score_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "metrics/doubt.h"

namespace bert {
namespace {

std::string summary_row(const std::string& group, const ScoreSummary::Part& part, bool pair,
                        bool against, double nats) {
  if (pair) {
    const Interval interval = wilson(part.first_better, part.records);
    std::string row =
        fmt::format("{}\t{}\t{:.6g}\t{}\t{}\t{}", group, part.records, part.accuracy(), part.ties,
                    number_text(interval.low), number_text(interval.high));
    if (against) {
      row += fmt::format("\t{}\t{}\t{}\t{}", number_text(part.other_accuracy()), part.own_only,
                         part.other_only, number_text(mcnemar(part.own_only, part.other_only)));
    }
    return row + '\n';
  }
  return fmt::format("{}\t{}\t{}\t{}\t{:.6g}\n", group, part.records, part.tokens,
                     score_text(part.pll.value()), part.perplexity(nats));
}

/// The members of a pair's part that say how sure its accuracy is.
void add_doubt(JsonRow& json, const ScoreSummary::Part& part, bool against) {
  const Interval interval = wilson(part.first_better, part.records);
  json.number("low", interval.low).number("high", interval.high);
  if (!against) return;
  json.number("other", part.other_accuracy()).count("own_only", part.own_only);
  json.count("other_only", part.other_only);
  json.number("p", mcnemar(part.own_only, part.other_only));
}

}  // namespace

ScoreSummary::Part& ScoreSummary::Part::operator+=(const Part& other) {
  records += other.records;
  tokens += other.tokens;
  first_better += other.first_better;
  ties += other.ties;
  other_better += other.other_better;
  own_only += other.own_only;
  other_only += other.other_only;
  pll.add(other.pll);
  return *this;
}

double ScoreSummary::Part::accuracy() const {
  return records == 0 ? NAN : static_cast<double>(first_better) / static_cast<double>(records);
}

double ScoreSummary::Part::other_accuracy() const {
  return records == 0 ? NAN : static_cast<double>(other_better) / static_cast<double>(records);
}

double ScoreSummary::Part::perplexity(double nats) const {
  return tokens == 0 ? NAN : std::exp(-nats * pll.value() / static_cast<double>(tokens));
}

ScoreSummary& ScoreSummary::operator+=(const ScoreSummary& other) {
  for (const auto& [group, part] : other.groups) groups[group] += part;
  unknown += other.unknown;
  return *this;
}

ScoreSummary::Part ScoreSummary::total() const {
  Part sum;
  for (const auto& [group, part] : groups) sum += part;
  return sum;
}

std::vector<std::string> ScoreSummary::columns(bool pair, bool against) {
  std::vector<std::string> names = {"group", "pairs", "accuracy", "ties", "low", "high"};
  if (against) names.insert(names.end(), {"other", "own_only", "other_only", "p"});
  if (pair) return names;
  return {"group", "records", "tokens", "pll", "perplexity"};
}

std::string ScoreSummary::table(bool pair, bool by_group) const {
  std::string rows;
  for (const auto& [group, part] : groups) {
    if (by_group) rows += summary_row(group, part, pair, against, nats);
  }
  return rows + summary_row("total", total(), pair, against, nats);
}

std::string ScoreSummary::report(bool pair, bool by_group) const {
  return fmt::format("{}\n", fmt::join(columns(pair, against), "\t")) + table(pair, by_group);
}

std::string ScoreSummary::json(bool pair, bool by_group) const {
  std::string text;
  JsonRow json(text);
  const auto add = [&](const Part& part) {
    if (pair) {
      json.count("pairs", part.records).number("accuracy", part.accuracy());
      json.count("ties", part.ties);
      add_doubt(json, part, against);
      json.end_object();
    } else {
      json.count("records", part.records).count("tokens", part.tokens);
      json.digits("pll", part.pll.value(), 9).number("perplexity", part.perplexity(nats));
      json.end_object();
    }
  };
  json.object();
  if (by_group) {
    json.list("groups");
    for (const auto& [group, part] : groups) {
      json.object().text("group", group);
      add(part);
    }
    json.end_list();
  }
  json.object("total");
  add(total());
  json.end_object();
  return text;
}

std::vector<std::string> ScoreSummary::accuracies(bool by_group) const {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& group, const Part& part) {
    lines.push_back(
        fmt::format("{}: accuracy {:.4f} of {} pairs", group, part.accuracy(), part.records));
    const Interval interval = wilson(part.first_better, part.records);
    lines.push_back(fmt::format("{}: 95 %: {:.4f} to {:.4f}", group, interval.low, interval.high));
    if (!against) return;
    lines.push_back(
        fmt::format("{}: the other {:.4f}; {} pairs right here alone, {} there: p {:.4g}", group,
                    part.other_accuracy(), part.own_only, part.other_only,
                    mcnemar(part.own_only, part.other_only)));
  };
  for (const auto& [group, part] : groups) {
    if (by_group) add(group, part);
  }
  if (!groups.empty()) add("total", total());
  return lines;
}

std::string ScoreSummary::unknown_text() const {
  if (unknown.count == 0) return "";
  return fmt::format(
      "{} of {} tokens are unknown to the vocabulary (first: record {}): their scores are those of "
      "the unknown token",
      unknown.count, total().tokens, unknown.first);
}

}  // namespace bert
