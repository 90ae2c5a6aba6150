#include "trainers/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/parse.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
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
constexpr const char* kKept = "/kept";  ///< the best run, while it moves up

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

std::string directory_of(const std::string& output, uint64_t seed) {
  return fmt::format("{}/seed-{}", output, seed);
}

std::vector<Result> results_of(const std::string& output, const std::vector<uint64_t>& seeds) {
  std::vector<Result> results;
  for (const uint64_t seed : seeds) results.push_back(result_of(directory_of(output, seed), seed));
  return results;
}

bool is_weights(const fs::path& path) {
  return path.filename() == file_names::kSafetensors || path.filename() == Adapter::kWeights;
}

void rename_now(const fs::path& from, const fs::path& to) {
  fs::rename(from, to);
  sync_directory(to.parent_path());
}

/// Moves the model of a run up. Its weights come last, and those of an older model go first, so no
/// weights ever stand beside files of others.
void move_up(const std::string& directory, const std::string& output) {
  std::error_code ignored;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename() != ".lock") paths.push_back(entry.path());
  }
  const auto weights = std::partition(paths.begin(), paths.end(),
                                      [](const fs::path& path) { return !is_weights(path); });
  for (const std::string_view name : {file_names::kSafetensors, Adapter::kWeights}) {
    if (weights != paths.end()) fs::remove(fs::path(output) / name, ignored);
  }
  sync_directory(output);
  for (const fs::path& path : paths) {
    const fs::path to = fs::path(output) / path.filename();
    if (fs::is_directory(to)) fs::remove_all(to, ignored);
    rename_now(path, to);
  }
  fs::remove_all(directory, ignored);
}

/// What is left to do when the table is written: the best run gets a name of its own, the others
/// go, and its model moves up. Goes on where it was interrupted.
void keep_best(const std::string& output, const std::vector<uint64_t>& seeds) {
  const std::string kept = output + kKept;
  if (!fs::exists(kept)) {
    if (!fs::exists(directory_of(output, seeds[0]))) return;  // all is done
    rename_now(best_of(results_of(output, seeds)).directory, kept);
  }
  for (const uint64_t seed : seeds) remove_directory(directory_of(output, seed));
  move_up(kept, output);
}

/// The table of runs with these seeds begins so.
std::string head_of(const std::vector<uint64_t>& seeds) {
  return fmt::format("seeds\t{}\n", fmt::join(seeds, ","));
}

}  // namespace

bool finetune_seeds(const FinetuneOptions& options, const std::vector<uint64_t>& named,
                    bool (*train)(const FinetuneOptions&)) {
  std::vector<uint64_t> seeds = named;
  for (size_t i = 0; named.empty() && i < options.seeds; ++i) {
    seeds.push_back(options.learner.seed + i);
  }
  const std::string table = options.output + kTable;
  if (options.resume) training::remove_unfinished(options.output);
  if (options.resume && file_exists(table) &&
      MappedFile::open(table).text().starts_with(head_of(seeds))) {
    keep_best(options.output, seeds);
    if (options.on_notice) {
      options.on_notice(fmt::format("the runs in {} are done already", options.output));
    }
    return true;
  }
  if (holds_model(options.output) && !options.overwrite) {
    throw Error(Error::Kind::cannot_create, options.output,
                "another model is here already; `overwrite` replaces it");
  }
  std::error_code ignored;
  fs::remove(table, ignored);  // of other runs, as what they kept
  fs::remove_all(options.output + kKept, ignored);
  for (const uint64_t seed : seeds) {
    FinetuneOptions one = options;
    one.learner.seed = seed;
    one.output = directory_of(options.output, seed);
    if (options.on_notice) options.on_notice(fmt::format("seed {}:", seed));
    if (!train(one)) return false;
  }
  const std::vector<Result> results = results_of(options.output, seeds);
  std::string rows = head_of(seeds) + "seed\tscore\n";
  for (const Result& r : results) rows += fmt::format("{}\t{}\n", r.seed, number_text(r.score));
  write_whole_file(table, rows);
  keep_best(options.output, seeds);
  tell(options, results, best_of(results));
  return true;
}

}  // namespace bert
