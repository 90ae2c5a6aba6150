#include "inspect/pooling_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "directory/readers.h"

namespace bert {

PoolingWords pooling_words(const SentenceModules& modules, const std::optional<Config>& config) {
  const TextUse& use = use_of(modules);
  if (!use.what.empty()) return {use.tools.empty() ? "warning" : "ok", std::string(use.what)};
  if (!modules.present) {
    const bool tokens =
        config && std::any_of(config->architectures.begin(), config->architectures.end(),
                              [](const std::string& name) { return name.ends_with("ColBERT"); });
    if (tokens) return {"warning", "a vector for each token, which embed refuses"};
    const bool first = config && !config->family->vector_class.empty();
    return {"ok", fmt::format("no modules.json: embed takes the {}",
                              first ? "first hidden state" : "mean")};
  }
  const std::string modes = fmt::format("{}", fmt::join(modules.pooling_modes, " "));
  if (modules.scores) {
    return {"ok", fmt::format("{}, {} layers, the score of a pair, for rank", modes,
                              modules.dense.size())};
  }
  return {"ok", fmt::format("{}{}{}", modes, modules.dense.empty() ? "" : ", dense",
                            modules.normalize ? ", normalize" : "")};
}

}  // namespace bert
