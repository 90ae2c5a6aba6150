#include "trainers/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/parse.h"
#include "directory/model_files.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "metrics/metrics.h"
#include "trainers/dev_measures.h"
#include "training/saving.h"

namespace bert {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "/seeds.tsv";

/// The names of the seeds, as the table has them.
std::string names_of(const std::vector<uint64_t>& seeds) {
  return fmt::format("{}", fmt::join(seeds, ","));
}

struct Result {
  std::string directory;
  uint64_t seed = 0;
  double score = 0;
  bool lower = false;  ///< a lower score is better
};

Result result_of(const std::string& directory, uint64_t seed) {
  const auto state = training::read_finished(directory);
  if (!state) throw Error(Error::Kind::no_input, directory, "lacks training.json of its run");
  const auto note = [&](const char* key) {
    const auto found = state->notes.find(key);
    return found == state->notes.end() ? std::string() : found->second;
  };
  const double score = to_number<double>(note("best score")).value_or(NAN);
  return {directory, seed, score, lower_is_better(note("metric"))};
}

void tell(const FinetuneOptions& options, const std::vector<Result>& results, const Result& best) {
  if (!options.on_notice) return;
  std::vector<double> scores;
  for (const Result& r : results) scores.push_back(r.score);
  const Spread spread = spread_of(scores);
  options.on_notice(
      fmt::format("{} seeds: mean {}, standard deviation {}; kept the model of seed "
                  "{} ({}) in {}",
                  results.size(), number_text(spread.mean), number_text(spread.deviation),
                  best.seed, number_text(best.score), options.output));
}

/// The first of the best; no number is the worst.
Result best_of(const std::vector<Result>& results) {
  const auto value = [](const Result& r) {
    return std::isnan(r.score) ? -INFINITY : r.lower ? -r.score : r.score;
  };
  return *std::max_element(results.begin(), results.end(),
                           [&](const Result& a, const Result& b) { return value(a) < value(b); });
}

/// Moves the model of a run up; the other runs go.
void keep(const std::vector<Result>& results, const Result& best, const std::string& output) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(best.directory)) {
    const fs::path to = fs::path(output) / entry.path().filename();
    if (entry.path().filename() == ".lock") continue;
    fs::remove_all(to, ignored);
    fs::rename(entry.path(), to);
  }
  for (const Result& r : results) fs::remove_all(r.directory, ignored);
}

}  // namespace

bool finetune_seeds(const FinetuneOptions& options, const std::vector<uint64_t>& named,
                    bool (*train)(const FinetuneOptions&)) {
  std::vector<uint64_t> seeds = named;
  for (size_t i = 0; named.empty() && i < options.seeds; ++i) {
    seeds.push_back(options.learner.seed + i);
  }
  const std::string table = options.output + kTable;
  if (options.resume && file_exists(table) &&
      MappedFile::open(table).text().starts_with("seeds\t" + names_of(seeds) + "\n")) {
    if (options.on_notice) {
      options.on_notice(fmt::format("the runs in {} are done already", options.output));
    }
    return true;
  }
  if (holds_model(options.output) && !options.overwrite) {
    throw Error(Error::Kind::cannot_create, options.output,
                "another model is here already; `overwrite` replaces it");
  }
  std::vector<Result> results;
  for (const uint64_t seed : seeds) {
    FinetuneOptions one = options;
    one.learner.seed = seed;
    one.output = fmt::format("{}/seed-{}", options.output, seed);
    if (options.on_notice) options.on_notice(fmt::format("seed {}:", seed));
    if (!train(one)) return false;
    results.push_back(result_of(one.output, seed));
  }
  const Result best = best_of(results);
  std::string rows = "seeds\t" + names_of(seeds) + "\nseed\tscore\n";
  for (const Result& r : results) rows += fmt::format("{}\t{}\n", r.seed, number_text(r.score));
  keep(results, best, options.output);
  write_whole_file(table, rows);
  tell(options, results, best);
  return true;
}

}  // namespace bert
