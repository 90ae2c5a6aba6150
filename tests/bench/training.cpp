// bench_training DIR LENGTHS THREADS STEPS DROPOUT f32|bf16: steps of masked-LM-free fine-tuning
// (two classes), batches of 32. LENGTHS: short (4 to 43 tokens) or long (128). Prints tokens,
// seconds, CPU seconds and peak MB of the steps.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "directory/model_directory.h"
#include "directory/weight_files.h"
#include "training/bert_network.h"

namespace {

double cpu_seconds(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Of this process alone: ru_maxrss begins with that of the parent.
long peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bert;
  using namespace bert::training;
  if (argc != 7) return 64;
  const bool is_short = std::string(argv[2]) == "short";
  LearnerOptions options;
  options.threads = std::atoi(argv[3]);
  options.bf16 = std::string(argv[6]) == "bf16";
  const int steps = std::atoi(argv[4]);
  options.optimizer.schedule = Schedule::constant;
  HeadPlan head{Objective::classify, ModelDirectory(argv[1]).config(), ""};
  head.config.labels = {"0", "1"};
  head.dropout = DropoutRates::all(std::strtod(argv[5], nullptr));
  const Weights weights = open_weights(argv[1], head.config);
  BertLearner learner({std::move(head)}, options);
  load_parameters(learner.layout(), weights, 1, 0.02f, learner.values());

  rusage usage{};
  double cpu = 0;
  size_t tokens = 0;
  std::chrono::steady_clock::time_point begin;
  for (int step = -1; step < steps; ++step) {  // one to warm up
    TrainingBatch batch;
    for (uint64_t s = 0; s < 32; ++s) {
      const uint64_t sequence = static_cast<uint64_t>(step + 1) * 32 + s;
      const size_t length = is_short ? 4 + sequence * 7919 % 40 : 128;
      std::vector<int32_t> ids, types(length, 0);
      for (size_t t = 0; t < length; ++t) {
        ids.push_back(static_cast<int32_t>(1000 + (sequence * 31 + t * 17) % 20000));
      }
      batch.batch.append(ids, types);
      batch.sequence_labels.push_back(static_cast<int32_t>(sequence % 2));
    }
    learner.step(batch);
    getrusage(RUSAGE_SELF, &usage);
    if (step < 0) {
      begin = std::chrono::steady_clock::now();
      cpu = cpu_seconds(usage);
    } else {
      tokens += batch.tokens();
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu %.3f %.3f %ld\n", tokens, seconds, cpu_seconds(usage) - cpu,
              peak_kilobytes() / 1024);
}
