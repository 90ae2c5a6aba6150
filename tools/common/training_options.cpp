#include "common/training_options.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/cpu.h"
#include "common/options.h"
#include "common/run.h"
#include "ops/arithmetic.h"

namespace bert::tools {
namespace {

std::atomic<int> signal_number{0};

extern "C" void on_signal(int number) { signal_number = number; }

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TrainingOptions::TrainingOptions(CLI::App& app, bool batches, bool chosen) {
  app.add_option("--output", output_, "directory to write the model to")
      ->required()
      ->type_name("DIR");
  if (batches) {
    batch_option_ = app.add_option("--batch-size", batch_size_,
                                   std::string("sequences in a step (default: ") +
                                       (chosen ? "32, or 16 or 8 for few examples)" : "32)"))
                        ->check(CLI::Range(1, 1 << 20))
                        ->type_name("N");
  }
  rate_option_ =
      app.add_option("--lr", optimizer_.learning_rate,
                     std::string("highest learning rate (default: ") +
                         (chosen ? "by the hidden size: 5e-5 for 768, 1e-4 for 384)" : "5e-5)"))
          ->type_name("X");
  add_choice<training::Schedule>(app, "--schedule", optimizer_.schedule,
                                 {{"linear", training::Schedule::linear},
                                  {"cosine", training::Schedule::cosine},
                                  {"constant", training::Schedule::constant}},
                                 "how the learning rate changes after the warm-up");
  app.add_option("--warmup", warmup_,
                 "share of the steps in which the learning rate rises (default: 0.1)")
      ->check(CLI::Range(0., 1.))
      ->type_name("X");
  app.add_option("--weight-decay", optimizer_.weight_decay, "weight decay of AdamW (default: 0.01)")
      ->check(CLI::Range(0., 1.))
      ->type_name("X");
  app.add_option("--max-grad-norm", optimizer_.max_grad_norm,
                 "clip gradients to this norm; 0: do not clip (default: 1)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  app.add_option("--dropout", dropout_, "rate of dropout (default: the config's)")
      ->check(CLI::Range(0., 0.9))
      ->type_name("X");
  app.add_option("--seed", seed_, "seed of all random numbers (default: 1)")->type_name("N");
  add_choice<bool>(app, "--dtype", bf16_, {{"f32", false}, {"bf16", true}},
                   "precision of the matrix products");
  app.add_option("--save-steps", save_every_, "steps between checkpoints")->type_name("N");
  app.add_option("--keep-checkpoints", keep_checkpoints_,
                 "newest checkpoints to keep; 0: none after the run (default: 2)")
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("N");
  app.add_flag("--resume", resume_, "continue from the newest checkpoint");
  app.add_flag("--overwrite", overwrite_, "start again, also if the directory has a model");
  app.add_option("--max-batch-tokens", pass_tokens_,
                 "tokens a thread computes at once; bounds the memory (default: 2048)")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  app.add_option("-j,--jobs", jobs_, "threads (default: the CPUs it may use)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--progress", progress_, "show the bar also if stderr is not a terminal");
  app.add_flag_callback(
      "-q,--quiet", [] { set_quiet(true); }, "show no notices and no bar");
}

void TrainingOptions::fill(TrainingJob& job) {
  job.learner = learner();
  job.dropout = dropout_;
  job.output = output_;
  job.batch_size = batch_size_;
  job.batch_given = batch_option_ && batch_option_->count() > 0;
  job.rate_given = rate_option_->count() > 0;
  job.keep_checkpoints = keep_checkpoints_;
  job.warmup_ratio = warmup_;
  job.save_every = save_every_ > 0 ? save_every_ : job.save_every;
  job.resume = resume_;
  job.overwrite = overwrite_;
  job.stop = &stop_signal();
  job.on_step = [this](const training::StepReport& report) { show(report); };
  job.on_notice = notice;
  job.on_report = print_report;
  job.on_memory = [](size_t more) {
    notice(fmt::format("wants about {} MB of memory", (resident_bytes() + more) >> 20));
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
  if (quiet() || !(progress_ || isatty(2))) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = report.step == report.total;
  if (!last && now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  constexpr size_t kWidth = 24;
  const size_t full = report.total > 0 ? kWidth * report.step / report.total : 0;
  const long left = static_cast<long>(report.seconds_left);
  const std::string line = fmt::format(
      "\r[{:#<{}}{:.<{}}] {}/{}  loss {:.4f}  rate {:.2e}  {:.0f} tokens/s  {}:{:02} left\x1b[K{}",
      "", full, "", kWidth - full, report.step, report.total, loss_ / weight_,
      report.result.learning_rate, report.tokens_per_second, left / 60, left % 60,
      last ? "\n" : "");
  on_line_ = !last;
  [[maybe_unused]] const ssize_t written = write(2, line.data(), line.size());
}

void TrainingOptions::report_end() {
  if (on_line_) [[maybe_unused]]
    const ssize_t written = write(2, "\n", 1);
  if (tokens_ == 0) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  notice(fmt::format("{} tokens in {:.1f} s, {:.0f} tokens/s, peak memory {} MB", tokens_, seconds,
                     static_cast<double>(tokens_) / seconds, usage.ru_maxrss / 1024));
}

}  // namespace bert::tools
