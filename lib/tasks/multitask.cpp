#include "tasks/multitask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "bert/model.h"
#include "heads/pooling.h"
#include "tasks/dev_score.h"
#include "tasks/pretrain.h"
#include "tasks/task_list.h"
#include "training/dropout.h"

namespace bert {
namespace {

using training::HeadPlan;
using training::Learner;
using training::mix;
using training::Objective;
using training::Run;
using training::Tally;
using training::TrainingBatch;

/// One task: its examples, and its batch of each step.
class Task {
 public:
  Task(TaskLine line, const Config& config, const Tokenizer& tokenizer, uint64_t seed,
       double dropout)
      : line_(std::move(line)), seed_(mix(seed, static_cast<uint64_t>(line_.kind))) {
    head_.config = config;
    head_.name = line_.name;
    head_.weight = line_.weight;
    head_.dropout = static_cast<float>(line_.dropout < 0 ? dropout : line_.dropout);
    const size_t limit = std::min(line_.max_length, config.max_position_embeddings);
    line_.train.encode.max_length = limit;
    line_.train.stride = std::min(line_.train.stride, limit / 3);
    if (line_.kind == TaskKind::mlm) {
      head_.objective = Objective::pretrain;
      PretrainingStream::Options data;
      data.files = line_.train.files;
      data.max_length = limit;
      data.masking.seed = seed;
      data.masking.mlm_probability = line_.mlm_probability;
      stream_.emplace(tokenizer, data);
      read_held_out(tokenizer, data);
      return;
    }
    if (line_.supervised()) set_labels(line_.task(), line_.train, line_.labels, head_.config);
    const auto read = [&](const std::vector<std::string>& files) {
      ExampleOptions from = line_.train;
      from.files = files;
      return line_.supervised() ? read_examples(line_.task(), from, tokenizer, head_.config.labels)
                                : read_texts(from, tokenizer, {});
    };
    head_.objective = line_.supervised() ? objective_of(line_.task()) : Objective::vectors;
    train_ = read(line_.train.files);
    if (!line_.dev.empty()) dev_ = read(line_.dev);
    if (!line_.teacher.empty()) teacher_.emplace(Model::open(line_.teacher));
    if (teacher_ && teacher_->config().hidden_size != config.hidden_size) {
      throw Error(Error::Kind::usage, line_.teacher,
                  fmt::format("has vectors of {}, wants {}", teacher_->config().hidden_size,
                              config.hidden_size));
    }
  }

  const HeadPlan& head() const { return head_; }
  size_t examples() const { return train_.examples.size(); }

  /// The batch of step `step`, which follow one another.
  void fill(uint64_t step, size_t index, TrainingBatch& batch) {
    if (stream_) {
      if (step != next_step_) stream_->skip((step - next_step_) * line_.batch_size);
      next_step_ = step + 1;
      stream_->next(line_.batch_size, batch);
    } else {
      choose(step);
      fill_from(train_, chosen_, batch);
    }
    batch.head = index;
  }

  std::string metric() const {
    if (line_.kind == TaskKind::mlm) return "mlm_top1\tnsp_accuracy";
    if (line_.kind == TaskKind::vectors) return "vectors_cosine";
    return line_.name + "_" + metric_of(line_.task(), line_.train.kind);
  }

  std::string score(Learner& learner, size_t index) {
    if (line_.dev.empty()) return stream_ ? "-\t-" : "-";
    if (line_.supervised()) return fmt::format("{:.6g}", bert::score(learner, dev_, index).value);
    Tally t;
    if (stream_) {
      held_out_.head = index;
      t = learner.evaluate(held_out_);
      return fmt::format("{:.6g}\t{:.6g}", static_cast<double>(t.tokens_right) / t.tokens,
                         static_cast<double>(t.sequences_right) / t.sequences);
    }
    TrainingBatch batch;
    constexpr size_t kBatch = 256;
    for (size_t first = 0; first < dev_.examples.size(); first += kBatch) {
      chosen_.clear();
      for (size_t i = first; i < std::min(first + kBatch, dev_.examples.size()); ++i) {
        chosen_.push_back(static_cast<uint32_t>(i));
      }
      fill_from(dev_, chosen_, batch);
      batch.head = index;
      t += learner.evaluate(batch);
    }
    return fmt::format("{:.6g}", 1 - t.sequence_loss / t.sequences);
  }

 private:
  /// Examples [step, step + 1) * batch of the endless sequence of shuffled epochs.
  void choose(uint64_t step) {
    chosen_.clear();
    const size_t n = train_.examples.size();
    for (uint64_t i = step * line_.batch_size; chosen_.size() < line_.batch_size; ++i) {
      if (order_.empty() || i / n != epoch_) {
        epoch_ = i / n;
        order_ = shuffled(n, seed_, epoch_);
      }
      chosen_.push_back(order_[i % n]);
    }
  }

  void fill_from(const ExampleSet& set, std::span<const uint32_t> order, TrainingBatch& batch) {
    set.fill(order, batch);
    if (line_.supervised()) return trim(line_.task(), batch);
    trim(FinetuneTask::ner, batch);
    const size_t h = head_.config.hidden_size;
    const Matrix hidden = teacher_->forward(batch.batch, workspace_);
    batch.values.resize(batch.sequences() * h);
    for (size_t s = 0; s < batch.sequences(); ++s) {
      const std::span<float> vector = std::span(batch.values).subspan(s * h, h);
      pool(Pooling::mean, hidden.slice(batch.batch.begin(s), batch.batch.length(s)), vector);
      normalize_l2(vector);
    }
  }

  void read_held_out(const Tokenizer& tokenizer, PretrainingStream::Options data) {
    if (line_.dev.empty()) return;
    constexpr size_t kSequences = 256;
    data.files = line_.dev;
    data.masking = {};
    data.masking.seed = 1;  // whatever the run's: two runs compare
    PretrainingStream(tokenizer, data).next(kSequences, held_out_);
  }

  TaskLine line_;
  HeadPlan head_;
  uint64_t seed_;
  ExampleSet train_, dev_;
  std::vector<uint32_t> order_, chosen_;
  uint64_t epoch_ = 0;
  std::optional<PretrainingStream> stream_;
  uint64_t next_step_ = 0;
  TrainingBatch held_out_;
  std::optional<Model> teacher_;
  Workspace workspace_;
};

class Multitask {
 public:
  explicit Multitask(const MultitaskOptions& options)
      : options_(options), tokenizer_(Tokenizer::open(options.model)) {
    const Config config = Config::open(options.model);
    std::vector<HeadPlan> heads;
    for (TaskLine& line : read_task_list(options.tasks)) {
      tasks_.push_back(std::make_unique<Task>(std::move(line), config, tokenizer_,
                                              options.learner.seed, options.dropout));
      heads.push_back(tasks_.back()->head());
    }
    const training::LearnerOptions learner = options.learner_options(options.steps);
    files_ = training::ModelFiles::make(options.model, heads);
    const Weights weights = Weights::open(options.model, config);
    learner_ = std::make_unique<Learner>(std::move(heads), learner);
    const auto drawn = training::load_parameters(learner_->layout(), weights, learner.seed, 0.02f,
                                                 learner_->values());
    if (!drawn.empty() && options.on_notice) {
      options.on_notice(fmt::format("new, drawn at random: {}", fmt::join(drawn, ", ")));
    }
  }

  bool run() {
    Run run(*learner_, files_, run_options());
    loss_ = run.noted("loss sum");
    count_ = run.noted("loss count");
    head_row();
    std::vector<TrainingBatch> batches(tasks_.size());
    while (learner_->steps() < options_.steps) {
      for (size_t i = 0; i < tasks_.size(); ++i) tasks_[i]->fill(learner_->steps(), i, batches[i]);
      const bool goes_on = run.step(batches, [&](const training::StepResult& result) {
        loss_ += result.loss;
        count_ += 1;
        const uint64_t step = learner_->steps();
        if (step % options_.eval_every == 0 || step == options_.steps) evaluate();
        run.note("loss sum", loss_);
        run.note("loss count", count_);
      });
      if (!goes_on) {
        run.checkpoint();
        return false;
      }
    }
    run.checkpoint();
    run.export_model();
    run.finish();
    return true;
  }

 private:
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
    uint64_t data = 0;
    for (const auto& task : tasks_) data = mix(data, task->examples());
    return options_.run_options("several", data, options_.steps);
  }

  const MultitaskOptions& options_;
  Tokenizer tokenizer_;
  std::vector<std::unique_ptr<Task>> tasks_;
  training::ModelFiles files_;
  std::unique_ptr<Learner> learner_;
  double loss_ = 0, count_ = 0;
};

}  // namespace

bool finetune_tasks(const MultitaskOptions& options) { return Multitask(options).run(); }

}  // namespace bert
