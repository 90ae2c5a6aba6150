#include "predict/translation_languages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace bert {
namespace {

constexpr size_t kNear = 5;  ///< names that a message lists
constexpr const char *kSource = "source_lang", *kTarget = "target_lang", *kBoth = "lang_field";

}  // namespace

TranslationLanguages::TranslationLanguages(const TranslationTokenizers& tokenizers,
                                           const GenerationConfig& generation,
                                           const std::string& source, const std::string& target)
    : tokenizers_(tokenizers) {
  const Languages& known = languages();
  usual_ = {known.source, known.target};
  if (!known.list.empty()) {
    const int32_t first =
        known.behind ? generation.start : generation.forced_bos_token_id.value_or(-1);
    for (const Language& language : known.list) {
      if (language.id == first) usual_.target = first;
    }
  }
  if (!source.empty()) usual_.source = find(kSource, source);
  if (!target.empty()) usual_.target = find(kTarget, target);
}

int32_t TranslationLanguages::find(const char* field, std::string_view name) const {
  if (languages().list.empty()) {
    throw Error::of_field(field, "this model's tokenizer has no tokens of languages");
  }
  if (const Language* language = languages().find(name)) return language->id;
  throw Error::of_field(
      field, fmt::format("found '{}', which is none of the model's {} languages; near: {}",
                         printable(name), languages().list.size(),
                         fmt::join(languages().near(name, kNear), ", ")));
}

LanguagePair TranslationLanguages::read(std::string_view field) const {
  LanguagePair pair = usual_;
  if (field.empty()) return pair;
  if (const size_t colon = field.find(':'); colon != std::string_view::npos) {
    pair.source = find(kBoth, field.substr(0, colon));
    field.remove_prefix(colon + 1);
  }
  pair.target = find(kBoth, field);
  return pair;
}

void TranslationLanguages::require_target(const LanguagePair& pair) const {
  if (languages().list.empty() || pair.target >= 0) return;
  const std::string& first = languages().list.front().name;
  throw Error::of_field(kTarget,
                        fmt::format("this model writes {} languages, wants the name of one, as {}",
                                    languages().list.size(), first));
}

GenerationConfig TranslationLanguages::settle(GenerationConfig config, int32_t target) const {
  if (target < 0) return config;
  if (languages().behind) {
    config.start = target;
  } else {
    config.forced_bos_token_id = target;
  }
  return config;
}

Tokenizer TranslationLanguages::source_tokenizer(int32_t source) const {
  return source < 0 ? tokenizers_.source : tokenizers_.source.with_language(source);
}

Tokenizer TranslationLanguages::target_tokenizer(int32_t target) const {
  if (languages().list.empty()) return tokenizers_.target;
  return tokenizers_.target.with_language(languages().behind ? -1 : target);
}

}  // namespace bert
