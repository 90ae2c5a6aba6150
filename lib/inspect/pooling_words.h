#pragma once

#include <optional>
#include <string>

#include "directory/sentence_modules.h"
#include "model/config.h"

namespace bert {

/// What embed and rank make of a model, for --check.
struct PoolingWords {
  const char* level = "ok";
  std::string text = {};
};
PoolingWords pooling_words(const SentenceModules& modules, const std::optional<Config>& config);

}  // namespace bert
