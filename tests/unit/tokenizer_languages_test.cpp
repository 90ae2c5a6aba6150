// Tokenizers of models that translate or sum up against transformers', with languages beside the
// texts.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/json.h"
#include "model/generation_config.h"
#include "predict/translation_languages.h"
#include "token_cases.h"
#include "tokenizer/translation_tokenizers.h"

using namespace bert;
using bert::test::encode;
using bert::test::numbers;

namespace {

const std::string kFolder = std::string(BERT_TESTS_DIR) + "/golden/tokens/languages/";
constexpr const char* kDirectories[] = {"mbart",   "mbart-json",    "mbart50", "mbart50-json",
                                        "m2m100",  "m2m100-listed", "nllb",    "nllb-legacy",
                                        "pegasus", "pegasus-json",  "t5",      "t5-json"};

std::string name_of(Json value) { return value.is_null() ? "" : std::string(value.as_string()); }

}  // namespace

TEST_CASE("Ids of texts and targets with languages, and texts of targets, are transformers'") {
  for (const std::string name : kDirectories) {
    CAPTURE(name);
    const TranslationTokenizers tokenizers = TranslationTokenizers::open(kFolder + name);
    std::ifstream file(kFolder + name + "/cases.jsonl");
    size_t lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      const JsonDocument document = JsonDocument::parse(line, name);
      std::vector<Json> cells;
      document.root().for_each_element([&](Json cell) { cells.push_back(cell); });
      const std::string text(cells[0].as_string());
      CAPTURE(text);
      const TranslationLanguages languages(tokenizers, {}, name_of(cells[1]), name_of(cells[2]));
      const LanguagePair pair = languages.usual();
      CHECK(encode(languages.source_tokenizer(pair.source), text) == numbers(cells[3]));
      std::vector<int32_t> target = numbers(cells[4]);
      const bool behind = tokenizers.source.languages().behind;
      if (behind) {  // a target begins with the language
        REQUIRE(target.back() == pair.target);
        target.pop_back();
      }
      CHECK(encode(languages.target_tokenizer(pair.target), text) == target);
      CHECK(tokenizers.target.decode(target, true) == cells[5].as_string());
      const GenerationConfig asked = languages.settle({}, pair.target);
      if (pair.target < 0) continue;
      CHECK((behind ? asked.start : asked.forced_bos_token_id.value_or(-1)) == pair.target);
    }
    CHECK(lines > 60);
  }
}

TEST_CASE("Names of languages that are none are refused with those that are near") {
  const TranslationTokenizers nllb = TranslationTokenizers::open(kFolder + "nllb");
  const auto message = [&](const TranslationTokenizers& tokenizers, const std::string& name) {
    try {
      const TranslationLanguages languages(tokenizers, {}, "", name);
      languages.require_target(languages.usual());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message(nllb, "fr")
            .find("found 'fr', which is none of the model's 4 languages; near: "
                  "fra_Latn, ") != std::string::npos);
  CHECK(message(nllb, "fra_Latn").empty());
  CHECK(message(nllb, "").find("this model writes 4 languages") != std::string::npos);
  const TranslationTokenizers m2m = TranslationTokenizers::open(kFolder + "m2m100");
  CHECK(message(m2m, "").empty());  // tgt_lang
  CHECK(message(m2m, "german").find("near: ") != std::string::npos);
  CHECK(message(TranslationTokenizers::open(kFolder + "t5"), "de").find("no tokens of languages") !=
        std::string::npos);
  const TranslationLanguages languages(m2m, {}, "", "");
  const LanguagePair pair = languages.read("de:zu");
  CHECK(m2m.source.token(pair.source) == "__de__");
  CHECK(m2m.source.token(pair.target) == "__zu__");
  CHECK(languages.read("zu").source == languages.usual().source);
  CHECK(languages.read("") == languages.usual());
}
