#include "directory/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "checkpoint/stored_turns.h"
#include "directory/weight_files.h"

namespace bert {
namespace {

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
  if (head && (!choice.kind || head->task == head_spec(*choice.kind).task)) return *head;
  std::string found = fmt::format("found '{}'", printable(choice.name));
  if (head) {
    found += fmt::format(", which is for {}, wants one for {}", printable(head->task),
                         head_spec(*choice.kind).task);
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
  const HeadSpec* spec = head_of_task(head.task);
  if (!spec) return {};
  return {class_name(spec->kind, *config.family)};
}

/// The named head that is taken without a name; nullptr: the one that has none.
const NamedHead* usual_head(const Config& config, const Weights& weights, HeadKind kind) {
  const std::string_view task = head_spec(kind).task;
  const auto first = [&](bool preferred) {
    const auto found = std::find_if(
        config.heads.begin(), config.heads.end(),
        [&](const NamedHead& h) { return h.task == task && (h.preferred || !preferred); });
    return found == config.heads.end() ? nullptr : &*found;
  };
  const NamedHead* head = first(true);
  return head || has_plain_head(config, weights, kind) ? head : first(false);
}

}  // namespace

bool has_plain_head(const Config& config, const Weights& weights, HeadKind kind) {
  return has_head(kind, config,
                  [&](std::string_view name) { return weights.find(name) != nullptr; });
}

Checkpoint Checkpoint::open(const ModelDirectory& directory, const HeadChoice& choice) {
  Config config = directory.config();
  Weights weights = open_weights(directory, config);
  take_stored_turns(config, weights);
  const NamedHead* head = nullptr;
  if (!choice.name.empty()) {
    head = &named_head(config, choice);
  } else if (choice.kind) {
    head = usual_head(config, weights, *choice.kind);
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

void require_head(const Config& config, const Weights& weights, HeadKind kind) {
  if (has_plain_head(config, weights, kind)) return;
  throw Error(Error::Kind::data, weights.path(),
              fmt::format("{} in this model", head_spec(kind).absent));
}

std::string heads_that_work(const Config& config, const Weights& weights) {
  std::string tools;
  for (const HeadSpec& head : head_specs()) {
    if (head.tools.empty() || !has_plain_head(config, weights, head.kind)) continue;
    tools += fmt::format("{}, ", head.tools);
  }
  return tools;
}

}  // namespace bert
