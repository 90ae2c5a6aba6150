#include "trainers/multitask_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "heads/pooling.h"
#include "metrics/metrics.h"
#include "trainers/dev_measures.h"
#include "trainers/dev_score.h"
#include "trainers/finetune_plan.h"
#include "trainers/held_out.h"
#include "trainers/text_examples.h"

namespace bert {

using training::BertLearner;
using training::Tally;
using training::TrainingBatch;

Task::Task(TaskLine line, const Config& config, const Tokenizer& tokenizer,
           const MultitaskOptions& options)
    : line_(std::move(line)), seed_(mix(options.learner.seed, static_cast<uint64_t>(line_.kind))) {
  head_.config = config;
  head_.name = line_.name;
  head_.weight = line_.weight;
  const bool plain = line_.kind == HeadKind::pretrain && !config.family->next_sentence;
  head_.objective = plain ? HeadKind::masked_lm : line_.kind;
  head_.dropout = line_.dropout < 0 ? options.dropout_rates(config, head_.objective)
                                    : training::DropoutRates::all(line_.dropout);
  const size_t limit = std::min(line_.max_length, config.max_tokens());
  line_.train.encode.max_length = limit;
  line_.train.wanted = options.wanted;
  line_.train.stride = std::min(line_.train.stride, limit / 2);
  if (line_.kind == HeadKind::pretrain) {
    read_text(tokenizer, options);
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
  const auto share = held_out_share(line_.dev);
  train_ = read(line_.train.files, share.has_value());
  if (share) {
    dev_ = hold_out(train_, line_.train.kind, *share, options.learner.seed);
  } else if (!line_.dev.empty()) {
    dev_ = read(line_.dev, true);
  }
  if (!line_.teacher.empty()) open_teacher();
}

void Task::read_text(const Tokenizer& tokenizer, const MultitaskOptions& options) {
  PretrainingStream::Options data;
  data.files = line_.train.files;
  data.wanted = line_.train.wanted;
  data.max_length = line_.train.encode.max_length;
  data.next_sentence = head_.config.family->next_sentence;
  data.masking.seed = options.learner.seed;
  data.masking.mlm_probability = line_.mlm_probability;
  if (!data.next_sentence && line_.mlm_probability <= 0) {
    throw Error(Error::Kind::usage, options.tasks,
                "found 'probability=0', without next sentences: nothing can be learned");
  }
  stream_.emplace(tokenizer, data);
  read_held_out(tokenizer, data);
}

void Task::read_held_out(const Tokenizer& tokenizer, PretrainingStream::Options data) {
  if (line_.dev.empty()) return;
  refuse_share(line_.dev);
  constexpr size_t kSequences = 256;
  data.files = line_.dev;
  data.masking = {};
  data.masking.seed = 1;  // whatever the run's: two runs compare
  PretrainingStream stream(tokenizer, data);
  stream.next(kSequences, held_out_);
  dev_counts_ = stream.counts();
}

void Task::open_teacher() {
  teacher_.emplace(Model::open(line_.teacher));
  if (teacher_->config().hidden_size == head_.config.hidden_size) return;
  throw Error(Error::Kind::usage, line_.teacher,
              fmt::format("has vectors of {}, wants {}", teacher_->config().hidden_size,
                          head_.config.hidden_size));
}

void Task::set_labels(KeptRecords& kept) {
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

training::StepSize Task::step_size() const {
  const size_t longest = std::min(line_.max_length, head_.config.max_tokens());
  return {line_.batch_size, line_.batch_size * longest, longest};
}

std::vector<std::string> Task::describe(const Tokenizer& tokenizer) const {
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

std::vector<std::string> Task::describe_read() const {
  return stream_ ? stream_->counts().lines("sentences") : std::vector<std::string>();
}

std::map<std::string, std::string> Task::identity() const {
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

bool Task::fill(uint64_t step, size_t index, TrainingBatch& batch) {
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

void Task::go_to(uint64_t step) {
  if (stream_) stream_->skip((step - next_step_) * line_.batch_size);
  next_step_ = step;
}

void Task::choose(uint64_t step) {
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

void Task::fill_from(const ExampleSet& set, std::span<const uint32_t> order, TrainingBatch& batch) {
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

std::string Task::metric() const {
  if (line_.kind == HeadKind::pretrain) return "mlm_top1\tnsp_accuracy";
  if (line_.kind == HeadKind::vectors) return "vectors_cosine";
  return line_.name + "_" + measures_of(line_.kind, line_.train.kind).front();
}

std::string Task::score(BertLearner& learner, size_t index) {
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

}  // namespace bert
