#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.h"
#include "model/generation_config.h"
#include "tokenizer/translation_tokenizers.h"

namespace bert {

/// The languages of a text and of its translation, ids of the tokenizer; -1: no token tells it.
struct LanguagePair {
  int32_t source = -1, target = -1;
  auto operator<=>(const LanguagePair&) const = default;
};

/// Which languages a model of many languages reads and writes, and how that is asked of it: the
/// language of a text is a token beside it; that of a translation is the first token that is
/// written, or with which a target begins (mBART).
///
/// Thread rule: const.
class BERT_API TranslationLanguages {
 public:
  /// Borrows the tokenizers. Names as the tokenizer has them; "": what the files say. Throws
  /// Error(usage) for a name that the tokenizer does not know, with those that are near.
  TranslationLanguages(const TranslationTokenizers& tokenizers, const GenerationConfig& generation,
                       const std::string& source, const std::string& target);

  const LanguagePair& usual() const { return usual_; }
  /// Of a field TARGET or SOURCE:TARGET; "": the usual ones. Throws Error(usage) as above.
  LanguagePair read(std::string_view field) const;
  /// Throws Error(usage) if no file and no user says in which language the model is to write.
  void require_target(const LanguagePair& pair) const;
  /// What a search is asked for translations to this language.
  GenerationConfig settle(GenerationConfig config, int32_t target) const;
  /// The tokenizers of such texts, and of targets without the token with which they begin.
  Tokenizer source_tokenizer(int32_t source) const;
  Tokenizer target_tokenizer(int32_t target) const;

 private:
  int32_t find(const char* field, std::string_view name) const;
  const Languages& languages() const { return tokenizers_.source.languages(); }

  const TranslationTokenizers& tokenizers_;
  LanguagePair usual_;
};

}  // namespace bert
