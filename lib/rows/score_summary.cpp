#include "rows/score_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace bert {
namespace {

std::string summary_row(const std::string& group, const ScoreSummary::Part& part, bool pair,
                        double nats) {
  if (pair) {
    return fmt::format("{}\t{}\t{:.6g}\t{}\n", group, part.records, part.accuracy(), part.ties);
  }
  return fmt::format("{}\t{}\t{}\t{}\t{:.6g}\n", group, part.records, part.tokens,
                     score_text(part.pll.value()), part.perplexity(nats));
}

}  // namespace

ScoreSummary::Part& ScoreSummary::Part::operator+=(const Part& other) {
  records += other.records;
  tokens += other.tokens;
  first_better += other.first_better;
  ties += other.ties;
  pll.add(other.pll);
  return *this;
}

double ScoreSummary::Part::accuracy() const {
  return records == 0 ? NAN : static_cast<double>(first_better) / static_cast<double>(records);
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

std::vector<std::string> ScoreSummary::columns(bool pair) {
  if (pair) return {"group", "pairs", "accuracy", "ties"};
  return {"group", "records", "tokens", "pll", "perplexity"};
}

std::string ScoreSummary::table(bool pair, bool by_group) const {
  std::string rows;
  for (const auto& [group, part] : groups) {
    if (by_group) rows += summary_row(group, part, pair, nats);
  }
  return rows + summary_row("total", total(), pair, nats);
}

std::string ScoreSummary::report(bool pair, bool by_group) const {
  return fmt::format("{}\n", fmt::join(columns(pair), "\t")) + table(pair, by_group);
}

std::string ScoreSummary::json(bool pair, bool by_group) const {
  std::string text;
  JsonRow json(text);
  const auto add = [&](const Part& part) {
    if (pair) {
      json.count("pairs", part.records).number("accuracy", part.accuracy());
      json.count("ties", part.ties).end_object();
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
  const auto add = [&lines](const std::string& group, const Part& part) {
    lines.push_back(
        fmt::format("{}: accuracy {:.4f} of {} pairs", group, part.accuracy(), part.records));
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
