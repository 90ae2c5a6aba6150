#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace bert {
namespace {

/// The tools that want a head for a task.
constexpr std::pair<std::string_view, std::string_view> kTools[] = {
    {"text-classification", "classify"},
    {"token-classification", "ner"},
    {"question-answering", "qa"},
    {"fill-mask", "mlm-fill, mlm-score"},
    {"next-sentence-prediction", "nsp-score"}};

/// "sentiment (text-classification), ner (token-classification)"
std::string list_heads(const Config& config) {
  std::string list;
  for (const NamedHead& head : config.heads) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", head.name, printable(head.task));
  }
  return list;
}

const NamedHead& named_head(const Config& config, const HeadChoice& choice) {
  const NamedHead* head = config.find_head(choice.name);
  if (head && (choice.task.empty() || head->task == choice.task)) return *head;
  std::string found = fmt::format("found '{}'", printable(choice.name));
  if (head) {
    found += fmt::format(", which is for {}, wants one for {}", printable(head->task), choice.task);
  } else {
    std::vector<std::string> names;
    for (const NamedHead& known : config.heads) names.push_back(known.name);
    const std::string nearest = nearest_name(choice.name, names);
    if (!nearest.empty()) found += fmt::format(" (did you mean {}?)", nearest);
  }
  throw Error::of_field("head", config.heads.empty()
                                    ? fmt::format("{}, but {} names no heads", found, config.path)
                                    : fmt::format("{}; the heads of {} are {}", found, config.path,
                                                  list_heads(config)));
}

/// What transformers would call the model of this head.
std::vector<std::string> architectures_of(const Config& config, const NamedHead& head) {
  if (!head.architectures.empty()) return head.architectures;
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"text-classification", "ForSequenceClassification"},
      {"token-classification", "ForTokenClassification"},
      {"question-answering", "ForQuestionAnswering"},
      {"fill-mask", "ForMaskedLM"},
      {"next-sentence-prediction", "ForNextSentencePrediction"}};
  for (const auto& [task, name] : kClasses) {
    if (head.task == task) return {fmt::format("{}{}", config.family->class_prefix, name)};
  }
  return {};
}

}  // namespace

bool has_plain_head(const Config& config, const Weights& weights, std::string_view task) {
  const auto is = [&](std::string_view ending) {
    return std::any_of(config.architectures.begin(), config.architectures.end(),
                       [&](const std::string& name) { return name.ends_with(ending); });
  };
  const bool classifier = weights.find("classifier.weight") != nullptr;
  const bool pooler = weights.find("pooler.dense.weight") != nullptr;
  const bool for_tokens = is("ForTokenClassification"), for_choices = is("ForMultipleChoice");
  if (task == "text-classification") {
    return weights.find("classifier.out_proj.weight") ||
           (classifier && pooler && !for_tokens && !for_choices);
  }
  if (task == "token-classification") {
    const bool bare = !pooler && !for_choices && !is("ForSequenceClassification");
    return classifier && (for_tokens || bare);
  }
  if (task == "question-answering") return weights.find("qa_outputs.weight") != nullptr;
  if (task == "fill-mask") return weights.find("cls.predictions.transform.dense.weight") != nullptr;
  if (task == "next-sentence-prediction") {
    return weights.find("cls.seq_relationship.weight") != nullptr;
  }
  return true;
}

Checkpoint Checkpoint::open(const std::string& directory, const HeadChoice& choice) {
  Config config = Config::open(directory);
  Weights weights = Weights::open(directory, config);
  const NamedHead* head = nullptr;
  if (!choice.name.empty()) {
    head = &named_head(config, choice);
  } else if (!has_plain_head(config, weights, choice.task)) {
    const auto found = std::find_if(config.heads.begin(), config.heads.end(),
                                    [&](const NamedHead& h) { return h.task == choice.task; });
    if (found != config.heads.end()) head = &*found;
  }
  const std::string name = head ? head->name : "";
  if (head) {
    weights.use_head(name);
    const std::vector<std::string> architectures = architectures_of(config, *head);
    static_cast<HeadConfig&>(config) = *head;
    config.architectures = architectures;
    config.score_function.clear();  // of the directory's own head
  }
  return {std::move(config), std::move(weights), name};
}

std::string heads_that_work(const Config& config, const Weights& weights) {
  std::string tools;
  for (const auto& [task, names] : kTools) {
    if (has_plain_head(config, weights, task)) tools += fmt::format("{}, ", names);
  }
  std::string text = fmt::format("{}embed, attend and tokenize work with it", tools);
  for (const NamedHead& head : config.heads) {
    const auto tool = std::find_if(std::begin(kTools), std::end(kTools),
                                   [&](const auto& known) { return known.first == head.task; });
    if (tool == std::end(kTools)) continue;
    text += fmt::format(", {} with its head {}", tool->second, head.name);
  }
  return text;
}

}  // namespace bert
