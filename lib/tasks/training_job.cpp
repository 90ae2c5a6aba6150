#include "tasks/training_job.h"

#include <fmt/format.h>

#include <cmath>

namespace bert {

training::LearnerOptions TrainingJob::learner_options(uint64_t steps) const {
  training::LearnerOptions options = learner;
  options.optimizer.total_steps = steps;
  options.optimizer.warmup_steps =
      static_cast<uint64_t>(std::ceil(warmup_ratio * static_cast<double>(steps)));
  return options;
}

training::RunOptions TrainingJob::run_options(const std::string& task, uint64_t data,
                                              uint64_t steps) const {
  constexpr const char* kSchedules[] = {"linear", "cosine", "constant"};
  training::RunOptions run;
  run.directory = output;
  run.resume = resume;
  run.overwrite = overwrite;
  run.total_steps = steps;
  run.save_every = save_every;
  run.stop = stop;
  run.on_step = on_step;
  run.on_notice = on_notice;
  run.identity = {{"task", task},
                  {"data", fmt::format("{:016x}", data)},
                  {"seed", std::to_string(learner.seed)},
                  {"threads", std::to_string(learner.threads)},
                  {"batch size", std::to_string(batch_size)},
                  {"steps", std::to_string(steps)},
                  {"learning rate", fmt::format("{}", learner.optimizer.learning_rate)},
                  {"schedule", kSchedules[static_cast<size_t>(learner.optimizer.schedule)]},
                  {"warm-up", fmt::format("{}", warmup_ratio)},
                  {"gradient norm", fmt::format("{}", learner.optimizer.max_grad_norm)},
                  {"weight decay", fmt::format("{}", learner.optimizer.weight_decay)},
                  {"dropout", fmt::format("{}", dropout)},
                  {"dtype", learner.bf16 ? "bf16" : "f32"}};
  return run;
}

}  // namespace bert
