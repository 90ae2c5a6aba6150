#include "trainers/multitask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "checkpoint/stored_turns.h"
#include "directory/file_names.h"
#include "directory/sentence_modules.h"
#include "directory/static_files.h"
#include "directory/weight_files.h"
#include "trainers/multitask_task.h"

namespace bert {
namespace {

using training::BertLearner;
using training::HeadPlan;
using training::Run;
using training::TrainingBatch;

Tokenizer open_tokenizer(const ModelDirectory& directory) {
  refuse_static_vectors(directory);
  return Tokenizer::open(directory);
}

class Multitask {
 public:
  explicit Multitask(const MultitaskOptions& options)
      : options_(options), tokenizer_(open_tokenizer(options.model)) {
    if (options.on_notice) {
      for (const std::string& warning : tokenizer_.warnings()) options.on_notice(warning);
    }
    Config config = options.model.config();
    config.bilstm = {};  // new heads are linear
    training::require_trainable(config, HeadKind::classify);
    config.score_function.clear();  // of a CrossEncoder, which it is no longer
    config.pooling = {};            // of the directory's own head
    const Weights weights = open_weights(options.model, config);
    take_stored_turns(config, weights);
    std::vector<HeadPlan> heads;
    std::vector<std::string> relabelled;
    for (TaskLine& line : read_task_list(options.tasks)) {
      tasks_.push_back(std::make_unique<Task>(std::move(line), config, tokenizer_, options));
      heads.push_back(tasks_.back()->head());
      if (tasks_.back()->relabelled()) relabelled.push_back(heads.back().prefix());
      tell(tasks_.size() - 1, tasks_.back()->describe(tokenizer_));
    }
    const training::LearnerOptions learner = options.learner_options(options.steps);
    files_ = training::ModelFiles::make(options.model, heads);
    tell_lost(config, weights, heads);
    tell_other_vectors();
    learner_ = std::make_unique<BertLearner>(std::move(heads), learner);
    const auto drawn = training::load_parameters(learner_->layout(), weights, learner.seed,
                                                 training::initializer_range(config),
                                                 learner_->values(), relabelled);
    if (!drawn.empty() && options.on_notice) {
      options.on_notice(fmt::format("new, drawn at random: {}", fmt::join(drawn, ", ")));
    }
  }

  bool run() {
    tell_memory();
    Run run(*learner_, files_, run_options());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i]->go_to(learner_->steps());
      run.must_be("text read of " + told(i), tasks_[i]->text_read());
    }
    if (run.finished()) return true;
    loss_ = run.noted("loss sum");
    count_ = run.noted("loss count");
    std::vector<TrainingBatch> batches(tasks_.size());
    while (learner_->steps() < options_.steps) {
      for (size_t i = 0; i < tasks_.size(); ++i) {
        if (tasks_[i]->fill(learner_->steps(), i, batches[i])) continue;
        if (learner_->steps() > 0) end(run);
        throw tasks_[i]->stream().ended(learner_->steps(), options_.steps, options_.output);
      }
      head_row();
      const bool goes_on = run.step(batches, [&](const training::StepResult& result) {
        loss_ += result.loss;
        count_ += 1;
        const uint64_t step = learner_->steps();
        if (step % options_.eval_every == 0 || step == options_.steps) evaluate();
        run.note("loss sum", loss_);
        run.note("loss count", count_);
        for (size_t i = 0; i < tasks_.size(); ++i) {
          run.notes()["text read of " + told(i)] = tasks_[i]->text_read();
        }
      });
      if (!goes_on) {
        run.checkpoint();
        tell_read();
        return false;
      }
    }
    end(run);
    return true;
  }

 private:
  void end(Run& run) const {
    run.checkpoint();
    run.export_model();
    tell_read();
    run.finish();
  }
  void tell_read() const {
    for (size_t i = 0; i < tasks_.size(); ++i) tell(i, tasks_[i]->describe_read());
  }
  void tell(size_t i, const std::vector<std::string>& lines) const {
    if (!options_.on_notice) return;
    for (const std::string& line : lines) options_.on_notice(told(i) + ": " + line);
  }
  /// What the model it begins with has, and the result will not have.
  void tell_lost(const Config& config, const Weights& weights,
                 const std::vector<HeadPlan>& heads) const {
    // A head's own layers are the highest ones, so that the last layer tells.
    const std::string last = tensor_name(Role::output, Part::weight, config.stored_layers() - 1);
    std::vector<std::string> left_out, with_layers;
    for (const NamedHead& old : config.heads) {
      const auto same = [&](const HeadPlan& head) { return head.name == old.name; };
      const auto head = std::find_if(heads.begin(), heads.end(), same);
      if (head == heads.end()) {
        left_out.push_back(old.name);
      } else if (weights.find(head->prefix() + last)) {
        with_layers.push_back(old.name);
      }
    }
    tell_names("heads that the list lacks are left out", left_out);
    tell_names("heads that had layers of their own begin with the trunk's layers", with_layers);
  }
  /// The result keeps the modules of the model it begins with.
  void tell_other_vectors() const {
    const auto trained = std::find_if(tasks_.begin(), tasks_.end(),
                                      [](const auto& task) { return task->trains_vectors(); });
    if (trained == tasks_.end()) return;
    const SentenceModules modules = SentenceModules::open(options_.model);
    if (modules.dense.empty() && modules.pooling_modes == std::vector<std::string>{"mean"}) return;
    tell(static_cast<size_t>(trained - tasks_.begin()),
         {fmt::format("trains the mean over all tokens, but embed follows {}/{}: {}{}",
                      options_.output, file_names::kModules, fmt::join(modules.pooling_modes, " "),
                      modules.dense.empty() ? "" : ", dense")});
  }
  void tell_names(const char* what, const std::vector<std::string>& names) const {
    if (names.empty() || !options_.on_notice) return;
    options_.on_notice(fmt::format("{}: {}", what, fmt::join(names, ", ")));
  }
  void tell_memory() const {
    if (!options_.on_memory) return;
    size_t most = 0;
    for (const auto& task : tasks_) {
      most = std::max(most, learner_->bytes_to_come(task->step_size(), true));
    }
    options_.on_memory(most);
  }
  void row(const std::string& text) const {
    if (options_.on_row) options_.on_row(text);
  }
  void head_row() const {
    if (learner_->steps() > 0) return;
    std::string text = "step\ttrain_loss";
    for (const auto& task : tasks_) text += "\t" + task->metric();
    row(text);
  }
  void evaluate() {
    std::string text = fmt::format("{}\t{:.6g}", learner_->steps(), loss_ / count_);
    loss_ = count_ = 0;
    for (size_t i = 0; i < tasks_.size(); ++i) text += "\t" + tasks_[i]->score(*learner_, i);
    row(text);
  }

  training::RunOptions run_options() const {
    training::RunOptions run = options_.run_options("several", options_.steps);
    std::string& names = run.identity["tasks"];
    for (size_t i = 0; i < tasks_.size(); ++i) {
      names += (names.empty() ? "" : ", ") + tasks_[i]->name();
      for (const auto& [key, value] : tasks_[i]->identity()) {
        run.identity[fmt::format("{} of {}", key, told(i))] = value;
      }
    }
    return run;
  }
  /// "task 2 (mlm)": several may be mlm, and a head may be called so.
  std::string told(size_t i) const { return fmt::format("task {} ({})", i + 1, tasks_[i]->name()); }

  const MultitaskOptions& options_;
  Tokenizer tokenizer_;
  std::vector<std::unique_ptr<Task>> tasks_;
  training::ModelFiles files_;
  std::unique_ptr<BertLearner> learner_;
  double loss_ = 0, count_ = 0;
};

}  // namespace

bool finetune_tasks(const MultitaskOptions& options) { return Multitask(options).run(); }

}  // namespace bert
