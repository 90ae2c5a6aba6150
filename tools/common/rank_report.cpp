#include "common/rank_report.h"

#include <fmt/format.h>

#include "base/parse.h"

namespace bert::tools {

void RankReport::add(Command& app, CLI::Option* gold) {
  app.add({"--cutoffs", "the first K for nDCG, recall and precision (default: 1,5,10)",
           text("K,...")},
          cutoffs_)
      .same_rows()
      ->needs(gold);
  ReportOption::add(app, gold);
  add_seed(app, gold);
}

std::vector<size_t> RankReport::cutoffs() const {
  std::vector<size_t> cutoffs;
  for (const std::string_view part : split(std::string_view(cutoffs_), ',')) {
    const auto cutoff = to_number<size_t>(part);
    if (!cutoff || *cutoff == 0)
      throw Error(Error::Kind::usage, "--cutoffs",
                  fmt::format("found '{}', wants whole numbers from 1 up", printable(part)));
    cutoffs.push_back(*cutoff);
  }
  return cutoffs;
}

int64_t relevance_of(const Record& record, std::string_view field) {
  const auto relevance = to_number<int64_t>(field);
  if (!relevance)
    record.fail(Error::Kind::data,
                fmt::format("found the relevance '{}', wants a whole number", printable(field)));
  return *relevance;
}

}  // namespace bert::tools
