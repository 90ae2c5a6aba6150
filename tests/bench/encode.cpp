// Our side of compare.py, with the protocol of worker.py:
//
//   bench_encode [-b BATCH_TOKENS] PRECISION MODEL_DIR THREADS IDS_FILE...
//
// Sequences are packed in input order, as the tools do it; a set of one sequence is run by all
// threads as a team.

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/team.h"
#include "encoder/model.h"

namespace {

using namespace bert;

using Sequences = std::vector<std::vector<int32_t>>;

Sequences read_ids(const std::string& path) {
  std::ifstream file(path);
  Sequences sequences;
  for (std::string line; std::getline(file, line);) {
    std::istringstream numbers(line);
    std::vector<int32_t>& ids = sequences.emplace_back();
    for (int32_t id; numbers >> id;) ids.push_back(id);
  }
  return sequences;
}

std::vector<PackedBatch> pack(const Sequences& sequences, size_t batch_tokens) {
  std::vector<PackedBatch> batches(1);
  for (const std::vector<int32_t>& ids : sequences) {
    if (!batches.back().empty() && batches.back().tokens() + ids.size() > batch_tokens) {
      batches.emplace_back();
    }
    batches.back().append(ids, std::vector<int32_t>(ids.size(), 0));
  }
  return batches;
}

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class Bench {
 public:
  Bench(const Model& model, int threads)
      : model_(model), team_(threads), workspaces_(static_cast<size_t>(threads)) {}

  double seconds(const std::vector<PackedBatch>& batches) {
    const double begin = now();
    if (batches.size() == 1) {
      workspaces_[0].linear.team = &team_;
      model_.forward(batches[0], workspaces_[0]);
      workspaces_[0].linear.team = nullptr;
    } else {
      std::atomic<size_t> next{0};
      team_.run([&](int part, int) {
        for (size_t i; (i = next++) < batches.size();) {
          model_.forward(batches[i], workspaces_[static_cast<size_t>(part)]);
        }
      });
    }
    return now() - begin;
  }

  /// Mean of the last hidden states of the first 8 sequences.
  std::string check(const Sequences& sequences) {
    std::string out;
    for (size_t s = 0; s < std::min<size_t>(8, sequences.size()); ++s) {
      PackedBatch batch;
      batch.append(sequences[s], std::vector<int32_t>(sequences[s].size(), 0));
      const Matrix hidden = model_.forward(batch, workspaces_[0]);
      for (size_t i = 0; i < hidden.cols; ++i) {
        double sum = 0;
        for (size_t t = 0; t < hidden.rows; ++t) sum += hidden.row(t)[i];
        out += fmt::format("{:.8g} ", sum / static_cast<double>(hidden.rows));
      }
    }
    return out;
  }

 private:
  const Model& model_;
  Team team_;
  std::vector<Workspace> workspaces_;
};

Precision precision_of(std::string_view name) {
  return name == "int8" ? Precision::int8 : name == "bf16" ? Precision::bf16 : Precision::f32;
}

int run(std::vector<std::string> arguments) {
  size_t batch_tokens = 512;  // the tools' default
  if (arguments.size() > 2 && arguments[0] == "-b") {
    batch_tokens = std::stoul(arguments[1]);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.size() < 4) {
    fmt::print(
        stderr,
        "usage: bench_encode [-b BATCH_TOKENS] f32|bf16|int8 MODEL_DIR THREADS IDS_FILE...\n");
    return 64;
  }
  const Model model = Model::open(arguments[1], precision_of(arguments[0]));
  Bench bench(model, std::stoi(arguments[2]));
  std::vector<Sequences> sets;
  std::vector<std::vector<PackedBatch>> batches;
  for (size_t i = 3; i < arguments.size(); ++i) {
    sets.push_back(read_ids(arguments[i]));
    batches.push_back(pack(sets.back(), batch_tokens));
    bench.seconds(batches.back());  // weights are blocked on first use
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "check") {
      std::cout << bench.check(sets[0]) << std::endl;
    } else {
      std::cout << bench.seconds(batches.at(std::stoul(line))) << std::endl;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_encode: {}\n", error.what());
    return 70;
  }
}
