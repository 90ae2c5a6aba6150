// Searches targets of sources that are given as token ids, and times it: see translate.py.
//
//   bench_translate MODEL IDS [--beams N] [--max-length N] [--threads N] [--rows N] [--best K]
//                   [--precision f32|bf16|int8] [--no-cache] [--runs N]
//
// IDS has a line of ids for each source. Writes a line of ids for each target, with its score.
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "base/error.h"
#include "seq2seq/search.h"

using namespace bert;

namespace {

struct Arguments {
  std::string model, ids;
  size_t beams = 0, max_length = 0, threads = 1, rows = 256, best = 1, runs = 1;
  std::optional<Precision> precision;
  bool cache = true;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  if (argc < 3) throw Error(Error::Kind::usage, "bench_translate", "wants MODEL IDS");
  arguments.model = argv[1];
  arguments.ids = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-cache") {
      arguments.cache = false;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    const size_t number = std::strtoul(value.c_str(), nullptr, 10);
    if (name == "--beams") arguments.beams = number;
    if (name == "--max-length") arguments.max_length = number;
    if (name == "--threads") arguments.threads = number;
    if (name == "--rows") arguments.rows = number;
    if (name == "--best") arguments.best = number;
    if (name == "--runs") arguments.runs = number;
    if (value == "bf16") arguments.precision = Precision::bf16;
    if (value == "int8") arguments.precision = Precision::int8;
  }
  return arguments;
}

std::vector<std::vector<int32_t>> read_ids(const std::string& path) {
  std::vector<std::vector<int32_t>> sources;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    sources.emplace_back();
    for (int32_t id; words >> id;) sources.back().push_back(id);
  }
  return sources;
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Each thread searches every n-th source.
std::vector<std::vector<Target>> search_all(const Seq2Seq& model, const GenerationConfig& config,
                                            const Arguments& arguments,
                                            const std::vector<std::vector<int32_t>>& sources) {
  std::vector<std::vector<Target>> all(sources.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < arguments.threads; ++t) {
    threads.emplace_back([&, t] {
      PackedBatch batch;
      for (size_t s = t; s < sources.size(); s += arguments.threads) {
        batch.append(sources[s], std::vector<int32_t>(sources[s].size(), 0));
      }
      SearchOptions options;
      options.best = arguments.best;
      options.cache = arguments.cache;
      options.max_rows = arguments.rows;
      Search search(model, config, options);
      std::vector<std::vector<Target>> found;
      search.run(batch, found);
      for (size_t i = 0; i < found.size(); ++i) all[t + i * arguments.threads] = found[i];
    });
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

int run(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const auto model = Seq2Seq::open(arguments.model, arguments.precision);
  GenerationConfig config = model->generation();
  if (arguments.beams > 0) config.num_beams = arguments.beams;
  if (arguments.max_length > 0) config.max_length = arguments.max_length;
  const auto sources = read_ids(arguments.ids);
  std::vector<std::vector<Target>> found;
  for (size_t i = 0; i < arguments.runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    found = search_all(*model, config, arguments, sources);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    size_t tokens = 0;
    for (const auto& targets : found) tokens += targets.empty() ? 0 : targets[0].ids.size();
    std::fprintf(stderr, "%.3f s, %.3f CPU s, %zu tokens\n", seconds.count(), cpu_seconds() - cpu,
                 tokens);
  }
  for (const auto& targets : found) {
    for (const Target& target : targets) {
      std::printf("%.6f", static_cast<double>(target.score));
      for (const int32_t id : target.ids) std::printf(" %d", id);
      std::printf("\n");
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
