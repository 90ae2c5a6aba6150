#include "trainers/multitask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/random.h"
#include "encoder/model.h"
#include "heads/pooling.h"
#include "metrics/metrics.h"
#include "model/static_config.h"
#include "trainers/dev_score.h"
#include "trainers/finetune_plan.h"
#include "trainers/pretraining_stream.h"
#include "trainers/task_list.h"
#include "training/evaluation.h"

namespace bert {
namespace {

using training::BertLearner;
using training::HeadPlan;
using training::Objective;
using training::Run;
using training::Tally;
using training::TrainingBatch;

/// One task: its examples, and its batch of each step.
class Task {
 public:
  Task(TaskLine line, const Config& config, const Tokenizer& tokenizer,
       const MultitaskOptions& options)
      : line_(std::move(line)),
        seed_(mix(options.learner.seed, static_cast<uint64_t>(line_.kind))) {
    const uint64_t seed = options.learner.seed;
    head_.config = config;
    head_.name = line_.name;
    head_.weight = line_.weight;
    const bool next_sentence = config.family->next_sentence;
    const bool plain = line_.kind == HeadKind::pretrain && !next_sentence;
    head_.objective = plain ? HeadKind::masked_lm : line_.kind;
    head_.dropout = line_.dropout < 0 ? options.dropout_rates(config, head_.objective)
                                      : training::DropoutRates::all(line_.dropout);
    const size_t limit = std::min(line_.max_length, config.max_tokens());
    line_.train.encode.max_length = limit;
    line_.train.stride = std::min(line_.train.stride, limit / 2);
    if (line_.kind == HeadKind::pretrain) {
      PretrainingStream::Options data;
      data.files = line_.train.files;
      data.max_length = limit;
      data.next_sentence = next_sentence;
      data.masking.seed = seed;
      data.masking.mlm_probability = line_.mlm_probability;
      if (!next_sentence && line_.mlm_probability <= 0) {
        throw Error(Error::Kind::usage, options.tasks,
                    "found 'probability=0', without next sentences: nothing can be learned");
      }
      stream_.emplace(tokenizer, data);
      read_held_out(tokenizer, data);
      return;
    }
    KeptRecords kept;
    if (line_.supervised()) set_labels(kept);
    const auto read = [&](const std::vector<std::string>& files, bool scored) {
      ExampleOptions from = line_.train;
      from.files = files;
      from.scored = scored;
      return line_.supervised()
                 ? read_examples(line_.kind, from, tokenizer, head_.config.labels, &kept)
                 : read_texts(from, tokenizer, {});
    };
    train_ = read(line_.train.files, false);
    if (!line_.dev.empty()) dev_ = read(line_.dev, true);
    if (!line_.teacher.empty()) teacher_.emplace(Model::open(line_.teacher));
    if (teacher_ && teacher_->config().hidden_size != config.hidden_size) {
      throw Error(Error::Kind::usage, line_.teacher,
                  fmt::format("has vectors of {}, wants {}", teacher_->config().hidden_size,
                              config.hidden_size));
    }
  }

  const HeadPlan& head() const { return head_; }
  /// No text need be as long as it may.
  training::StepSize step_size() const {
    const size_t longest = std::min(line_.max_length, head_.config.max_tokens());
    return {line_.batch_size, line_.batch_size * longest, longest};
  }
  /// What a user should see of its data before the first step.
  std::vector<std::string> describe(const Tokenizer& tokenizer) const {
    if (stream_) return dev_counts_.lines("dev sentences");
    const HeadKind task = line_.supervised() ? line_.kind : HeadKind::classify;
    const bool scored = !line_.dev.empty();
    auto lines =
        bert::describe(task, line_.train, head_.config.labels, train_, scored ? &dev_ : nullptr);
    if (!scored || !line_.supervised()) return lines;
    const auto gold = gold_options(task, line_.train, dev_, head_.config, tokenizer);
    if (!gold.empty()) lines.push_back(gold);
    return lines;
  }
  /// The same of a text, which is known only when it was read.
  std::vector<std::string> describe_read() const {
    return stream_ ? stream_->counts().lines("sentences") : std::vector<std::string>();
  }
  /// Whether the model has this head with other labels.
  bool relabelled() const { return relabelled_; }
  std::string name() const { return line_.supervised() ? line_.name : kind_name(line_.kind); }

  /// What decides its batches, for the run's.
  std::map<std::string, std::string> identity() const {
    std::map<std::string, std::string> all{{"options", line_.options_text()}};
    if (stream_) {
      all.merge(stream_->options().identity());
    } else {
      all["examples"] = hash_text(train_.hash());
    }
    if (line_.supervised()) {
      all["labels"] = fmt::format("{}", fmt::join(head_.config.labels, ","));
    }
    if (teacher_) all["teacher"] = hash_text(directory_hash(line_.teacher));
    return all;
  }

  /// The batch of step `step`, which follow one another. False: a text has ended that cannot be
  /// read again.
  bool fill(uint64_t step, size_t index, TrainingBatch& batch) {
    if (stream_) {
      go_to(step);
      ++next_step_;
      if (!stream_->next(line_.batch_size, batch)) return false;
    } else {
      choose(step);
      fill_from(train_, chosen_, batch);
    }
    batch.head = index;
    return true;
  }
  const PretrainingStream& stream() const { return *stream_; }

  /// Before step `step`, which is not before the last one.
  void go_to(uint64_t step) {
    if (stream_) stream_->skip((step - next_step_) * line_.batch_size);
    next_step_ = step;
  }

  /// Of the text of a stream that was read so far.
  std::string text_read() const { return stream_ ? hash_text(stream_->hash()) : "none"; }

  std::string metric() const {
    if (line_.kind == HeadKind::pretrain) return "mlm_top1\tnsp_accuracy";
    if (line_.kind == HeadKind::vectors) return "vectors_cosine";
    return line_.name + "_" + metric_of(line_.kind, line_.train.kind);
  }

  std::string score(BertLearner& learner, size_t index) {
    if (line_.dev.empty()) return stream_ ? "-\t-" : "-";
    if (line_.supervised()) return number_text(bert::score(learner, dev_, index).value);
    training::Evaluation evaluation(learner, index);
    Tally t;
    if (stream_) {
      held_out_.head = index;
      t = evaluation.run(held_out_);
      std::string scores = fmt::format("{:.6g}", static_cast<double>(t.tokens_right) / t.tokens);
      if (t.sequences == 0) return scores + "\t-";  // no head for that
      return scores + fmt::format("\t{:.6g}", static_cast<double>(t.sequences_right) / t.sequences);
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
      t += evaluation.run(batch);
    }
    return fmt::format("{:.6g}", 1 - t.sequence_loss / t.sequences);
  }

 private:
  /// Those of the head that the model has, where they fit.
  void set_labels(KeptRecords& kept) {
    const NamedHead* old = head_.config.find_head(line_.name);
    const std::vector<std::string> before = old ? old->labels : std::vector<std::string>();
    if (old) {
      head_.config.labels = old->labels;
      head_.config.labels_named = old->labels_named;
      head_.config.pooling = old->pooling;
    }
    bert::set_labels(line_.kind, line_.train, line_.labels, head_.config, &kept);
    relabelled_ = old && old->labels_named && before != head_.config.labels;
  }

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
    if (line_.supervised()) return trim(line_.kind, batch);
    trim(HeadKind::tokens, batch);
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
    PretrainingStream stream(tokenizer, data);
    stream.next(kSequences, held_out_);
    dev_counts_ = stream.counts();
  }

  TaskLine line_;
  HeadPlan head_;
  uint64_t seed_;
  bool relabelled_ = false;
  ExampleSet train_, dev_;
  std::vector<uint32_t> order_, chosen_;
  uint64_t epoch_ = 0;
  std::optional<PretrainingStream> stream_;
  uint64_t next_step_ = 0;
  TrainingBatch held_out_;
  TextCounts dev_counts_;  ///< of its text
  std::optional<Model> teacher_;
  Workspace workspace_;
};

Tokenizer open_tokenizer(const std::string& directory) {
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
    Config config = Config::open(options.model);
    config.bilstm = {};  // new heads are linear
    training::require_trainable(config);
    config.score_function.clear();  // of a CrossEncoder, which it is no longer
    config.pooling = {};            // of the directory's own head
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
    const Weights weights = Weights::open(options.model, config);
    tell_lost(config, weights, heads);
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
    const std::string last = tensor_name(Role::output, Part::weight, config.num_hidden_layers - 1);
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
