#include "trainers/finetune_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "nn/loss.h"
#include "trainers/label_doubts.h"

namespace bert {
namespace {

constexpr double kBaseRate = 5e-5, kHighestRate = 1e-3;  // of BERT-base; of any default
constexpr double kBaseWidth = 768;
constexpr uint64_t kFewestSteps = 60;

/// The labels with the examples of each, most first.
std::string shares(std::span<const std::string> labels, const std::vector<size_t>& counts) {
  constexpr size_t kShown = 12;
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return counts[a] > counts[b]; });
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), size_t{0}));
  std::string text;
  for (size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const size_t label = order[i];
    text += fmt::format("{}{} {} ({:.3g} %)", i > 0 ? ", " : "", printable(labels[label]),
                        counts[label], 100 * static_cast<double>(counts[label]) / total);
  }
  if (order.size() > kShown) text += fmt::format(" and {} more", order.size() - kShown);
  return text;
}

/// How many texts or tokens have each label.
std::vector<size_t> label_counts(const ExampleSet& set, size_t labels, LabelKind kind, bool words) {
  std::vector<size_t> counts(labels, 0);
  for (const Example& e : set.examples) {
    for (const int32_t label : e.token_labels) {
      if (label != nn::kIgnored) ++counts[static_cast<size_t>(label)];
    }
    for (size_t i = 0; i < e.values.size(); ++i) counts[i] += e.values[i] > 0;
    if (!words && kind == LabelKind::one) ++counts[static_cast<size_t>(e.label)];
  }
  return counts;
}

std::string_view noun(HeadKind task) {
  if (task == HeadKind::classify) return "texts";
  return task == HeadKind::tokens ? "sentences" : "questions";
}

std::string count_text(const ExampleSet& set, HeadKind task, const char* what) {
  std::string text = fmt::format("{} {} {}", set.origins, what, noun(task));
  if (set.examples.size() != set.origins) {
    text += fmt::format(" in {} windows", set.examples.size());
  }
  if (set.unanswered > 0) text += fmt::format(", {} without an answer", set.unanswered);
  if (set.empty > 0) text += fmt::format(", {} of them empty", set.empty);
  return text;
}

/// What is wrong with the texts.
void add_faults(const ExampleSet& set, HeadKind task, const char* what, const ExampleOptions& from,
                std::vector<std::string>& lines) {
  if (set.cut > 0 && task != HeadKind::spans) {
    lines.push_back(fmt::format("{} of {} {} texts cut at {} tokens", set.cut, set.origins, what,
                                from.encode.max_length));
  }
  if (set.blank > 0) {
    lines.push_back(fmt::format("{} blank record{} at the end of the {} {} skipped", set.blank,
                                set.blank == 1 ? "" : "s", what,
                                set.blank == 1 ? "examples was" : "examples were"));
  }
  if (set.comments > 0) {
    lines.push_back(fmt::format("{} comment line{} of the {} sentences skipped", set.comments,
                                set.comments == 1 ? "" : "s", what));
  }
  if (set.moved > 0) {
    lines.push_back(
        fmt::format("{} {} answer{} not at the given start: the nearest place was taken", set.moved,
                    what, set.moved == 1 ? "" : "s"));
  }
  if (set.left_out > 0) {
    lines.push_back(fmt::format("{} {} question{} left out: no answer stands in the context",
                                set.left_out, what, set.left_out == 1 ? "" : "s"));
  }
  for (std::string& line : set.counts.lines(fmt::format("{} {}", what, noun(task)))) {
    lines.push_back(std::move(line));
  }
}

/// What the dev examples lack, so that their score says little.
void add_lack(std::span<const std::string> labels, const std::vector<size_t>& counts,
              LabelKind kind, bool words, std::vector<std::string>& lines) {
  size_t found = 0, last = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (counts[i] == 0 || (words && labels[i] == "O")) continue;
    ++found;
    last = i;
  }
  if (words && found == 0) {
    lines.emplace_back("no dev sentence has an entity: F1 is 0, whatever the model says");
  } else if (kind == LabelKind::several && found == 0) {
    lines.emplace_back("no dev text has a label: F1 is 0, whatever the model says");
  } else if (!words && kind == LabelKind::one && found == 1 && labels.size() > 1) {
    lines.push_back(fmt::format("all dev texts have the label '{}': their score says little",
                                printable(labels[last])));
  }
}

}  // namespace

FinetunePlan FinetunePlan::make(const FinetuneOptions& options, const Config& config,
                                size_t examples) {
  FinetunePlan plan;
  const bool head_only =
      options.freeze_layers.value_or(options.head.empty() ? 0 : config.stored_layers()) ==
      config.stored_layers();
  const double suits = head_only
                           ? kHighestRate
                           : std::min(kHighestRate, kBaseRate * kBaseWidth /
                                                        static_cast<double>(config.hidden_size));
  plan.learning_rate = options.rate_given ? options.learner.optimizer.learning_rate : suits;
  plan.batch_size = options.batch_given ? options.batch_size
                    : examples < 128    ? 8
                    : examples < 512    ? 16
                                        : 32;
  plan.batch_size *= options.accumulate;
  plan.steps_per_epoch = (examples + plan.batch_size - 1) / plan.batch_size;
  const uint64_t enough = (kFewestSteps + plan.steps_per_epoch - 1) / plan.steps_per_epoch;
  plan.epochs = options.epochs.value_or(static_cast<double>(std::max<uint64_t>(3, enough)));
  plan.steps = static_cast<uint64_t>(
      std::ceil(plan.epochs * static_cast<double>(plan.steps_per_epoch) - 1e-9));
  return plan;
}

std::string FinetunePlan::text() const {
  return fmt::format("steps {}, epochs {:.6g}, batches of {}, learning rate {:.3g}", steps, epochs,
                     batch_size, learning_rate);
}

std::vector<std::string> describe(HeadKind task, const ExampleOptions& from,
                                  std::span<const std::string> labels, const ExampleSet& train,
                                  const ExampleSet* dev) {
  std::vector<std::string> lines;
  add_faults(train, task, "training", from, lines);
  if (dev) add_faults(*dev, task, "dev", from, lines);
  lines.push_back(count_text(train, task, "training"));
  if (dev) lines.back() += "; " + count_text(*dev, task, "dev");
  const bool words = task == HeadKind::tokens;
  const bool one = from.kind == LabelKind::one;
  if (dev && task == HeadKind::spans && dev->unanswered == dev->origins) {
    lines.emplace_back("no dev question has an answer: the score is that of finding none");
  }
  if (task == HeadKind::spans) return lines;
  if (!words && !one && from.kind != LabelKind::several) return lines;
  const auto counts = label_counts(train, labels.size(), from.kind, words);
  lines.push_back("labels: " + shares(labels, counts));
  LabelUse use{labels, counts, {}, words ? 0 : train.origins};
  if (dev) use.dev = label_counts(*dev, labels.size(), from.kind, words);
  for (std::string& line : label_doubts(use, from.kind)) lines.push_back(std::move(line));
  if (dev) add_lack(labels, use.dev, from.kind, words, lines);
  if (words || !one || from.has_header() || may_be_texts(use)) return lines;
  const auto first = static_cast<size_t>(train.examples.front().label);
  if (counts[first] == 1 && labels.size() > 2) {
    lines.push_back(
        fmt::format("the first line alone has the label '{}': if it names the columns, say that "
                    "there is a header",
                    printable(labels[first])));
  }
  return lines;
}

std::vector<float> balanced_weights(const ExampleSet& set, size_t labels) {
  std::vector<double> counts(labels, 0);
  double total = 0;
  const auto add = [&](int32_t label) {
    if (label == -100) return;
    ++counts[static_cast<size_t>(label)];
    ++total;
  };
  for (const Example& e : set.examples) {
    if (e.token_labels.empty()) add(e.label);
    for (const int32_t label : e.token_labels) add(label);
  }
  std::vector<float> weights;
  for (const double count : counts) {
    weights.push_back(count > 0 ? static_cast<float>(total / (static_cast<double>(labels) * count))
                                : 0.f);
  }
  return weights;
}

bool any_weighs(const ExampleSet& set, std::span<const float> weights) {
  const auto weighs = [&](int32_t label) {
    return label != -100 && weights[static_cast<size_t>(label)] > 0;
  };
  return std::any_of(set.examples.begin(), set.examples.end(), [&](const Example& e) {
    return e.token_labels.empty()
               ? weighs(e.label)
               : std::any_of(e.token_labels.begin(), e.token_labels.end(), weighs);
  });
}

std::string gold_options(HeadKind task, const ExampleOptions& from, const ExampleSet& dev,
                         const Config& config, const Tokenizer& tokenizer) {
  constexpr const char* kTools[] = {"classify", "ner", "qa"};
  const TaskSpec& spec = task_spec(task);
  const size_t usual = spec.max_length(config.max_tokens(), tokenizer.model_max_length());
  const size_t length = from.encode.max_length;
  const bool windows = dev.examples.size() > dev.origins;
  const bool longer = std::any_of(dev.examples.begin(), dev.examples.end(),
                                  [&](const Example& e) { return e.input_ids.size() > usual; });
  std::string options;
  if (length != usual && (dev.cut > 0 || windows || longer)) {
    options += fmt::format(" --max-seq-length {}", length);
  }
  if (windows && from.stride != spec.stride_within(length)) {
    options += fmt::format(" --stride {}", from.stride);
  }
  if (options.empty()) return options;
  return fmt::format("the dev score is what {} --gold reports with{}",
                     kTools[static_cast<size_t>(task)], options);
}

}  // namespace bert
