#include "trainers/training_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

namespace bert {

void TrainingJob::check_learning_rate() const {
  const double rate = learner.optimizer.learning_rate;
  if (rate > 0 && std::isfinite(rate)) return;
  throw Error::of_field("learning_rate", fmt::format("found {}, wants a number above 0", rate));
}

training::LearnerOptions TrainingJob::learner_options(uint64_t steps) const {
  training::LearnerOptions options = learner;
  options.optimizer.total_steps = steps;
  options.optimizer.warmup_steps =
      static_cast<uint64_t>(std::ceil(warmup_ratio * static_cast<double>(steps)));
  return options;
}

training::RunOptions TrainingJob::run_options(const std::string& task, uint64_t steps) const {
  constexpr const char* kSchedules[] = {"linear", "cosine", "constant"};
  training::RunOptions run;
  run.directory = output;
  run.resume = resume;
  run.overwrite = overwrite;
  run.total_steps = steps;
  run.save_every = save_every;
  run.keep = keep_checkpoints;
  run.leave = leave_checkpoints;
  run.stop = stop;
  run.on_step = on_step;
  run.on_notice = on_notice;
  run.identity = {{"task", task},
                  {"seed", std::to_string(learner.seed)},
                  {"batch size", std::to_string(batch_size)},
                  {"batch tokens", std::to_string(learner.max_pass_tokens)},
                  {"steps", std::to_string(steps)},
                  {"learning rate", fmt::format("{}", learner.optimizer.learning_rate)},
                  {"schedule", kSchedules[static_cast<size_t>(learner.optimizer.schedule)]},
                  {"warm-up", fmt::format("{}", warmup_ratio)},
                  {"gradient norm", fmt::format("{}", learner.optimizer.max_grad_norm)},
                  {"weight decay", fmt::format("{}", learner.optimizer.weight_decay)},
                  {"dropout", dropout ? fmt::format("{}", *dropout) : "the model's"},
                  {"dtype", learner.bf16 ? "bf16" : "f32"}};
  return run;
}

Checkpoint open_start(const ModelDirectory& model, const std::string& head, HeadKind kind) {
  if (head.empty()) return Checkpoint::open(model);
  if (!is_head_name(head)) {
    throw Error::of_field(
        "head", fmt::format("found '{}', wants letters, digits, '-' and '_'", printable(head)));
  }
  if (!model.config().find_head(head)) return Checkpoint::open(model);
  return Checkpoint::open(model, {head, kind});
}

void freeze(training::Layout& layout, size_t layers) {
  for (training::Parameter& p : layout.parameters()) {
    if (p.depth <= static_cast<int32_t>(layers)) p.rate_scale = 0;
  }
}

size_t checked_length(size_t length, const Config& config) {
  if (length >= 8 && length <= config.max_tokens()) return length;
  throw Error::of_field("max_length", fmt::format("found {}, wants 8 to {}, the model's positions",
                                                  length, config.max_tokens()));
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

std::filesystem::file_type file_type(const std::string& file) {
  std::error_code fault;
  const std::filesystem::file_type type = std::filesystem::status(file, fault).type();
  if (type == std::filesystem::file_type::none) {
    throw Error::from_errno(file, "cannot stat", fault.value());
  }
  return type;
}

uint64_t files_hash(const std::vector<std::string>& files) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string piece;
  uint64_t hash = files.size();
  for (const std::string& file : files) {
    if (file_type(file) != std::filesystem::file_type::regular) continue;
    std::ifstream in(file, std::ios::binary);
    do {
      piece.resize(kPiece);
      in.read(piece.data(), kPiece);
      piece.resize(static_cast<size_t>(in.gcount()));
      hash = mix(hash, xxh64(piece));
    } while (in);
    if (!in.eof()) throw Error::from_errno(file, "read error", errno);
  }
  return hash;
}

uint64_t directory_hash(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files_hash(files);
}

}  // namespace bert
