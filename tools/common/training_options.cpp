#include "common/training_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/cpu.h"
#include "base/platform.h"
#include "common/as_text.h"
#include "common/run.h"
#include "ops/arithmetic.h"

namespace bert::tools {
namespace {

std::atomic<int> signal_number{0};

extern "C" void on_signal(int number) { signal_number = number; }

}  // namespace

void add_record_form(Command& app, RecordForm& form, const std::string& keys) {
  app.add({"--header", "the first line of each file names the columns"}, form.header);
  const auto csv = add_csv(app, "read CSV with a header", form.csv, form.no_header);
  app.add({"--jsonl", "read JSON objects; fields are keys (default: " + keys + ")"},
          form.json_lines)
      .of("json_lines")
      ->excludes(app.get_option("--header"))
      ->excludes(csv);
}

TrainingOptions::TrainingOptions(Command& app, bool batches, const TrainingDefaults& defaults) {
  app.heading("Training");
  add_recipe(app, batches, defaults);
  app.heading("Running");
  add_running(app);
  app.heading(Command::kOwnOptions);
}

/// What decides the model.
void TrainingOptions::add_recipe(Command& app, bool batches, const TrainingDefaults& defaults) {
  app.add({"--output", "directory to write the model to", directory()}, output_)->required();
  if (batches) {
    batch_option_ =
        app.add({"--batch-size", fmt::format("sequences in a step (default: {})", defaults.batch),
                 whole(1, 1 << 20)},
                batch_size_);
  }
  rate_option_ =
      app.add({"--lr", fmt::format("highest learning rate (default: {})", defaults.rate), real()},
              optimizer_.learning_rate)
          .of("learning_rate");
  app.add<training::Schedule>({"--schedule", "how the learning rate changes after the warm-up"},
                              optimizer_.schedule,
                              {{"linear", training::Schedule::linear},
                               {"cosine", training::Schedule::cosine},
                               {"constant", training::Schedule::constant}});
  app.add({"--warmup", "share of the steps in which the learning rate rises (default: 0.1)",
           real(0., 1.)},
          warmup_)
      .of("warmup_ratio");
  app.add({"--weight-decay", "weight decay of AdamW (default: 0.01)", real(0., 1.)},
          optimizer_.weight_decay);
  app.add({"--max-grad-norm", "clip gradients to this norm; 0: do not clip (default: 1)",
           non_negative()},
          optimizer_.max_grad_norm);
  app.add(
      {"--dropout", fmt::format("rate of dropout (default: {})", defaults.dropout), real(0., 0.9)},
      dropout_);
  app.add({"--seed", "seed of all random numbers (default: 1)", whole()}, seed_);
  app.add<bool>({"--dtype", "precision of the matrix products"}, bf16_,
                {{"f32", false}, {"bf16", true}})
      .same_rows();
}

void TrainingOptions::add_running(Command& app) {
  app.add({"--save-steps", "steps between checkpoints", whole()}, save_every_);
  app.add({"--keep-checkpoints", "newest checkpoints that stay after the run (default: 0)",
           whole(0, 1 << 20)},
          keep_checkpoints_);
  app.add({"--resume", "continue from the newest checkpoint"}, resume_);
  app.add({"--overwrite", "start again, also if the directory has a model"}, overwrite_);
  app.add(
         {"--max-batch-tokens",
          "tokens a thread computes at once; bounds the memory (default: 2048)", whole(1, 1 << 20)},
         pass_tokens_)
      .same_rows();
  app.add({"-j,--jobs", "threads (default: the CPUs it may use)", whole(1, 1024)}, jobs_)
      .same_rows();
  app.add({"--progress", "show progress on stderr, also if it is not a terminal"}, progress_)
      .same_rows();
  app.add({"-q,--quiet", "show no notices and no bar"}, [] { set_quiet(true); }).same_rows();
}

void TrainingOptions::fill(TrainingJob& job) {
  const double average = job.learner.average;
  job.learner = learner();
  job.learner.average = average;
  job.dropout = dropout_;
  job.output = output_;
  job.batch_size = batch_size_;
  job.batch_given = batch_option_ && batch_option_->count() > 0;
  job.rate_given = rate_option_->count() > 0;
  if (keep_checkpoints_) job.keep_checkpoints = *keep_checkpoints_;
  job.leave_checkpoints = keep_checkpoints_.value_or(0) > 0;
  job.warmup_ratio = warmup_;
  job.save_every = save_every_ > 0 ? save_every_ : job.save_every;
  job.resume = resume_;
  job.overwrite = overwrite_;
  job.stop = &stop_signal();
  job.on_step = [this](const training::StepReport& report) { show(report); };
  job.on_notice = notice;
  job.on_report = print_report;
  job.on_memory = [](size_t more) {
    notice(fmt::format("wants about {} MB of memory", (platform::resident_bytes() + more) >> 20));
  };
  job.on_row = [](const std::string& row) { print(row + "\n"); };
}

void TrainingOptions::end(bool done) {
  report_end();
  if (!done) end_by_signal();
}

training::LearnerOptions TrainingOptions::learner() const {
  training::LearnerOptions options;
  options.optimizer = optimizer_;
  options.seed = seed_;
  options.bf16 = bf16_ && products_in(Precision::bf16) == "bf16";
  if (bf16_ && !options.bf16) {
    notice("--dtype bf16: on this CPU bf16 is not faster than f32, so f32 is used");
  }
  options.threads = jobs_ > 0 ? jobs_ : allowed_cpus();
  options.max_pass_tokens = pass_tokens_;
  return options;
}

const std::atomic<int>& TrainingOptions::stop_signal() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the process at once
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  return signal_number;
}

void TrainingOptions::end_by_signal() {
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
  _exit(128 + signal_number);
}

void TrainingOptions::show(const training::StepReport& report) {
  tokens_ += report.result.tally.input_tokens;
  loss_ = 0.98 * loss_ + 0.02 * report.result.loss;
  weight_ = 0.98 * weight_ + 0.02;
  if (!line_) line_.emplace(progress_);
  const bool last = report.step == report.total;
  if (!line_->due(last)) return;
  line_->draw({bar(static_cast<double>(report.step) /
                   static_cast<double>(std::max(report.total, uint64_t{1}))),
               {2, fmt::format("{}/{}", report.step, report.total)},
               {3, fmt::format("loss {:.4f}", loss_ / weight_)},
               {6, fmt::format("rate {:.2e}", report.result.learning_rate)},
               {5, fmt::format("{:.0f} tokens/s", report.tokens_per_second)},
               time_left(report.seconds_left)});
  if (last) line_->end();
}

void TrainingOptions::report_end() {
  if (line_) line_->end();
  if (tokens_ == 0) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  notice(fmt::format("{} tokens in {:.1f} s, {:.0f} tokens/s, peak memory {} MB", tokens_, seconds,
                     static_cast<double>(tokens_) / seconds, platform::peak_bytes() >> 20));
}

}  // namespace bert::tools
