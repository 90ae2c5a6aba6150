#include "directory/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "directory/checkpoint.h"
#include "directory/sentence_modules.h"

namespace bert {
namespace {

struct Row {
  bool (*fits)(const SentenceModules& modules);
  TextUse use;
};

constexpr Row kRows[] = {
    {[](const SentenceModules& m) { return m.of_tokens; },
     {"a vector for each token (ColBERT), which `maxsim` of rank compares", "rank (`maxsim`)"}},
    {[](const SentenceModules& m) { return m.splade || m.sparse_folder; },
     {"a sparse vector (SPLADE), which `sparse` of embed writes", "embed (`sparse`)"}},
    {[](const SentenceModules& m) { return m.logit_score.has_value(); },
     {"the score of a pair by a chat template, for rank", "rank"}},
    {[](const SentenceModules& m) { return m.scores; }, {"", "rank"}},
    {[](const SentenceModules& m) { return m.pooling_modes.empty(); },
     {"modules.json names no Pooling: embed refuses the model", ""}},
    {[](const SentenceModules&) { return true; }, {"", "embed"}}};

/// What makes something of a text by the modules; empty also if embed refuses them.
std::string_view tools_of_modules(const ModelDirectory& directory, const Config& config) {
  try {
    const SentenceModules modules = SentenceModules::open(directory);
    const bool of_tokens =  // as embed does, which refuses all but those of ColBERT itself
        std::any_of(config.architectures.begin(), config.architectures.end(),
                    [](const std::string& name) { return name.ends_with("ColBERT"); });
    return of_tokens && !modules.of_tokens ? "" : use_of(modules).tools;
  } catch (const Error& error) {
    if (!error.of_content()) throw;
    return "";
  }
}

}  // namespace

const TextUse& use_of(const SentenceModules& modules) {
  return std::find_if(std::begin(kRows), std::end(kRows),
                      [&](const Row& row) { return row.fits(modules); })
      ->use;
}

void require_head(const ModelDirectory& directory, const Config& config, const Weights& weights,
                  HeadKind kind) {
  if (directory.empty()) return require_head(config, weights, kind);
  if (has_plain_head(config, weights, kind)) return;
  throw Error(Error::Kind::data, weights.path(),
              fmt::format("{} in this model; {}", head_spec(kind).absent,
                          tools_that_read(directory, config, weights)));
}

std::string tools_that_read(const ModelDirectory& directory, const Config& config,
                            const Weights& weights) {
  std::string tools = directory.translates() ? "translate, " : "";
  tools += heads_that_work(config, weights);
  for (const std::string_view name :
       {tools_of_modules(directory, config),
        std::string_view(config.num_hidden_layers > 0 ? "attend" : "")}) {
    if (!name.empty()) tools += fmt::format("{}, ", name);
  }
  std::string text = "tokenize works with it";
  if (tools.size() > 2) {
    tools.resize(tools.size() - 2);
    text = fmt::format("{} and tokenize work with it", tools);
  }
  for (const NamedHead& head : config.heads) {
    const HeadSpec* spec = head_of_task(head.task);
    if (spec) text += fmt::format(", {} with its head {}", spec->tools, head.name);
  }
  return text;
}

}  // namespace bert
