#include "training/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/random.h"
#include "directory/adapter.h"
#include "directory/file_names.h"
#include "directory/model_files.h"
#include "directory/weight_files.h"
#include "io/mapped_file.h"
#include "model/names.h"
#include "training/loss_curve.h"

namespace bert::training {

namespace {

/// A hash of the tensors that a new head's copy of its model takes over: other heads are no
/// parameters.
uint64_t hash_of_copied(const ModelFiles& files) {
  if (files.head_name.empty()) return 0;
  const Weights weights = open_weights(files.source, files.source.config());
  uint64_t hash = 0;
  for (const TensorView* tensor : weights.tensors()) {
    if (head_name(tensor->name) == files.head_name) continue;
    const std::span<const std::byte> bytes = tensor->bytes();
    hash = mix(hash, mix(xxh64(tensor->name),
                         xxh64({reinterpret_cast<const char*>(bytes.data()), bytes.size()})));
  }
  return hash;
}

/// A hash of the model that a run starts from: its tensors and small files.
std::string hash_of_start(Learner& learner, const ModelFiles& files) {
  const auto* values = reinterpret_cast<const char*>(learner.values());
  uint64_t hash = xxh64({values, learner.layout().floats() * sizeof(float)});
  hash = mix(hash, hash_of_copied(files));
  if (files.turns) {
    const std::vector<float>& turns = files.turns->values;
    hash = mix(hash,
               xxh64({reinterpret_cast<const char*>(turns.data()), turns.size() * sizeof(float)}));
  }
  for (const NamedFiles& list : {files.files, files.head_files}) {
    for (const auto& [name, content] : list) hash = mix(hash, mix(xxh64(name), xxh64(content)));
  }
  return fmt::format("{:016x}", hash);
}

constexpr std::string_view kStart = "starting model";
constexpr const char* kKept = "/checkpoints/.kept";  // the run that wanted them is done

/// A message about the entries of `identity` that differ from the notes of `what`, a checkpoint or
/// a run that is done; empty if none differ. A different seed also gives different starting
/// tensors, so these are named only if nothing else differs.
std::string difference(const std::map<std::string, std::string>& identity,
                       const std::map<std::string, std::string>& notes,
                       std::string_view what = "the checkpoint") {
  std::string text;
  const auto compare = [&](const std::string& key, const std::string& wanted) {
    const auto found = notes.find(key);
    if (found != notes.end() && found->second == wanted) return;
    text += text.empty() ? fmt::format("{} was made with ", what) : "; ";
    text += found == notes.end()
                ? fmt::format("a version that does not record the {}", key)
                : fmt::format("{} {}, now it is {}", key, printable(found->second, 200),
                              printable(wanted, 200));
  };
  for (const auto& [key, wanted] : identity) {
    if (key != kStart) compare(key, wanted);
  }
  const auto start = identity.find(std::string(kStart));
  if (text.empty() && start != identity.end()) compare(start->first, start->second);
  return text.empty() ? text : text + ": a resumed run must be the same one";
}

}  // namespace

Run::Run(Learner& learner, ModelFiles files, RunOptions options)
    : learner_(learner),
      files_(std::move(files)),
      options_(std::move(options)),
      directory_(options_.directory),
      lock_(options_.directory + "/.lock") {
  const std::string& directory = options_.directory;
  const bool saved = !saved_steps(directory + "/checkpoints").empty();
  // A run that is killed before its first checkpoint leaves a curve, and maybe a model.
  const bool done = options_.resume && read_finished(directory).has_value();
  const bool begun = saved || done || file_exists(directory + "/loss.tsv");
  const bool used = saved || holds_model(directory);
  if (used && !(options_.resume && begun) && !options_.overwrite) {
    throw Error(Error::Kind::cannot_create, directory,
                begun ? "a model or its checkpoints are here already; `resume` goes on, "
                        "`overwrite` begins anew"
                      : "another model is here already; `overwrite` replaces it");
  }
  remove_unfinished(directory);
  options_.identity[std::string(kStart)] = hash_of_start(learner_, files_);
  if (options_.resume) resume();
  state_.notes.insert(options_.identity.begin(), options_.identity.end());
  begin_ = std::chrono::steady_clock::now();
  begin_step_ = learner_.steps();
}

Run::~Run() {
  if (curve_ >= 0) close(curve_);
}

/// A run that is done has only its model, which must be there.
bool Run::resume_finished() {
  const std::string& directory = options_.directory;
  std::optional<RunState> state = read_finished(directory);
  if (!state) return false;
  if (const auto other = difference(options_.identity, state->notes, "the run"); !other.empty()) {
    throw Error(Error::Kind::data, directory, other);
  }
  if (!holds_model(directory)) {
    throw Error(Error::Kind::no_input, directory,
                "lacks the model of a run that is done, and its checkpoints are gone; `overwrite` "
                "without `resume` begins anew");
  }
  tell_done();
  remove_directory(directory + "/checkpoints");  // should the run have been killed before that
  state_ = std::move(*state);
  learner_.set_steps(state_.step);
  return finished_ = true;
}

void Run::tell_done() const {
  notice(fmt::format("the run in {} is done already; `overwrite` without `resume` begins anew",
                     options_.directory));
}

void Run::resume() {
  if (resume_finished()) return;
  const std::string directory = options_.directory + "/checkpoints";
  std::vector<uint64_t> steps = saved_steps(directory);
  for (; !steps.empty(); steps.pop_back()) {
    std::string other;
    try {
      other = difference(options_.identity, read_state(directory, steps.back()).notes);
      if (other.empty()) {
        state_ = load_checkpoint(learner_, directory, steps.back());
        if (state_.step == options_.total_steps && file_exists(options_.directory + kKept)) {
          tell_done();
          options_.leave = true;
        }
        return;
      }
    } catch (const Error& error) {
      if (steps.size() == 1) throw;
      notice(fmt::format("{}; going on from step {}", error.what(), steps[steps.size() - 2]));
      continue;
    }
    throw Error(Error::Kind::data, directory, other);
  }
}

void Run::must_be(const std::string& key, const std::string& value) {
  if (begin_step_ > 0 && state_.notes[key] != value) {
    throw Error(Error::Kind::data, options_.directory + "/checkpoints",
                difference({{key, value}}, state_.notes));
  }
}

/// Old checkpoints are removed only now, after the first step: it has shown that the input is
/// sound.
void Run::begin_curve() {
  if (curve_ >= 0) return;
  if (!options_.resume) {
    remove_finished(options_.directory);
    remove_directory(options_.directory + "/checkpoints");
  }
  open_curve();
}

/// Cuts the curve behind the last step of the checkpoint, and opens it to append.
void Run::open_curve() {
  const std::string path = options_.directory + "/loss.tsv";
  std::string kept = "step\tloss\tlearning_rate\tgradient_norm\ttokens\tdev_loss\tdev_score\n";
  if (begin_step_ > 0 && file_exists(path)) {
    const MappedFile old = MappedFile::open(path);
    std::string_view rest = old.text();
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1));
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      std::string_view row = rest.substr(0, end);
      const uint64_t step = take_number<uint64_t>(row).value_or(0);
      if (step == 0 || step > begin_step_) break;
      kept += rest.substr(0, end + 1);
      if (rest.find("\t\t") < end && rest[end - 1] != '\t') dev_step_ = step;
    }
  }
  write_whole_file(path, kept);
  curve_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (curve_ < 0) throw Error::from_errno(path, "cannot open", errno);
}

void Run::append_row(const std::string& row) {
  if (write(curve_, row.data(), row.size()) != static_cast<ssize_t>(row.size())) {
    notice("loss.tsv: a row could not be written");
  }
}

void Run::dev_point(double loss, double score) {
  begin_curve();
  if (dev_step_ == learner_.steps()) return;  // the curve has it from before the interruption
  dev_step_ = learner_.steps();
  append_row(fmt::format("{}\t\t\t\t\t{:.6g}\t{:.6g}\n", dev_step_, loss, score));
}

bool Run::step(std::span<const TrainingBatch> batches,
               const std::function<void(const StepResult&)>& done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  StepReport report;
  report.result = learner_.step(batches);
  begin_curve();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto tokens = static_cast<double>(report.result.tally.input_tokens);
  recent_seconds_ = 0.95 * recent_seconds_ + seconds;
  recent_tokens_ = 0.95 * recent_tokens_ + tokens;

  report.step = state_.step = learner_.steps();
  report.total = options_.total_steps;
  report.tokens_per_second = recent_tokens_ / recent_seconds_;
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  report.seconds_left = elapsed / static_cast<double>(report.step - begin_step_) *
                        static_cast<double>(report.total - std::min(report.step, report.total));
  append_row(fmt::format("{}\t{:.9g}\t{:.6g}\t{:.6g}\t{}\t\t\n", report.step, report.result.loss,
                         report.result.learning_rate, report.result.gradient_norm,
                         report.result.tally.input_tokens));
  if (options_.on_step) options_.on_step(report);
  if (done) done(report.result);
  const bool stop = options_.stop && *options_.stop != 0;
  if (!stop && options_.save_every > 0 && report.step % options_.save_every == 0) checkpoint();
  return !stop;
}

void Run::checkpoint() {
  begin_curve();
  state_.step = learner_.steps();
  try {
    save_checkpoint(learner_, files_, state_, options_.directory + "/checkpoints", options_.keep);
    save_failure_.reset();
  } catch (const Error& error) {
    save_failure_ = error;
    const bool before = !saved_steps(options_.directory + "/checkpoints").empty();
    notice(fmt::format("{}; {}", error.what(),
                       before ? "the checkpoint before it is kept" : "there is none before it"));
  }
}

void Run::note(const std::string& key, double value) {
  state_.notes[key] = fmt::format("{:a}", value);
}

double Run::noted(const std::string& key, double absent) const {
  const auto found = state_.notes.find(key);
  return found == state_.notes.end() ? absent : std::strtod(found->second.c_str(), nullptr);
}

void Run::export_model() {
  training::export_model(learner_, files_, options_.directory);
  if (options_.overwrite && !options_.resume) {
    NamedFiles own = files_.head_name.empty() ? files_.files : files_.head_files;
    if (!files_.adapter.empty()) {
      own.emplace_back(file_names::kAdapter, "");
      own.emplace_back(Adapter::kWeights, "");
    }
    remove_other_model_files(own, options_.directory);
  }
}

void Run::finish() {
  begin_curve();  // a finished run's checkpoints may come without it
  const MappedFile curve = MappedFile::open(options_.directory + "/loss.tsv");
  write_whole_file(options_.directory + "/loss.svg", loss_svg(curve.text()));
  if (save_failure_ && options_.leave) {
    throw Error(save_failure_->kind(), "",
                fmt::format("{}; the model in {} is whole, but no checkpoint is of its end",
                            save_failure_->what(), options_.directory));
  }
  if (options_.leave) {
    const bool kept = !saved_steps(options_.directory + "/checkpoints").empty();
    if (kept) write_whole_file(options_.directory + kKept, "");
    return;
  }
  write_finished(state_, options_.directory);
  remove_directory(options_.directory + "/checkpoints");
}

}  // namespace bert::training
