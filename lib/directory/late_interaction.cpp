#include "directory/late_interaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/module_stages.h"
#include "directory/sentence_modules.h"
#include "directory/transformer_settings.h"
#include "io/json.h"
#include "model/config_keys.h"

namespace bert {
namespace {

constexpr size_t kQueryLength = 32, kDocumentLength = 180;  // PyLate's, where its file is silent

using config_keys::find;
using config_keys::refuse;

size_t length_at(const Json& root, std::string_view key, size_t absent) {
  const auto value = find(root, {key});
  return value ? config_keys::size_of(*value, 1, 1 << 20) : absent;
}

std::string text_at(const Json& root, std::string_view key, std::string_view absent = "") {
  const auto value = find(root, {key});
  return std::string(value ? value->as_string() : absent);
}

std::vector<std::string> words_at(const Json& root, std::string_view key) {
  std::vector<std::string> words;
  if (const auto list = find(root, {key})) {
    list->for_each_element([&](Json word) { words.emplace_back(word.as_string()); });
  }
  return words;
}

/// Python's string.punctuation.
std::vector<std::string> punctuation() {
  std::vector<std::string> words;
  for (char c = '!'; c <= '~'; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter) words.emplace_back(1, c);
  }
  return words;
}

/// config_sentence_transformers.json, as PyLate writes it.
void read_pylate(const Json& root, LateInteraction& late) {
  late.query.marker = text_at(root, "query_prefix", "[Q] ");
  late.document.marker = text_at(root, "document_prefix", "[D] ");
  late.query.length = length_at(root, "query_length", kQueryLength);
  late.document.length = length_at(root, "document_length", kDocumentLength);
  late.skipped = find(root, {"skiplist_words"}) ? words_at(root, "skiplist_words") : punctuation();
  late.document.skips_tokens = true;
  if (!module_flag(root, "do_query_expansion", true)) return;
  late.expansion.length = late.query.length;
  late.expansion.attend = module_flag(root, "attend_to_expansion_tokens", false);
}

/// sentence_bert_config.json, as sentence-transformers writes it for a MultiVectorEncoder.
void read_lengths(const Json& root, LateInteraction& late) {
  late.query.length = length_at(root, "query_length", 0);
  late.document.length = length_at(root, "document_length", 0);
  const auto expansion = find(root, {"query_expansion"});
  if (!expansion) return;
  late.expansion.length = length_at(*expansion, "length", kQueryLength);
  late.expansion.attend = module_flag(*expansion, "attend", false);
  late.expansion.token = text_at(*expansion, "token");
  const Json strategy = expansion->at("strategy");
  if (strategy.as_string() == "fixed") {
    late.query.length = late.expansion.length;
  } else if (strategy.as_string() != "min") {
    refuse(strategy, "\"fixed\" or \"min\"");
  } else if (late.query.length > 0) {
    late.query.length = std::max(late.query.length, late.expansion.length);
  }
}

/// The config.json of a MultiVectorMask.
void read_mask(const Json& root, LateInteraction& late) {
  late.skipped = words_at(root, "skiplist_words");
  if (const auto ids = find(root, {"keep_only_token_ids"})) refuse(*ids, "null");
  const auto tasks = find(root, {"skiplist_tasks"});
  late.document.skips_tokens = !tasks;
  if (!tasks) return;
  tasks->for_each_element([&](Json task) {
    late.query.skips_tokens |= task.as_string() == "query";
    late.document.skips_tokens |= task.as_string() == "document";
  });
}

/// artifact.metadata of ColBERT itself. It has no modules.json.
void read_metadata(const JsonDocument* document, LateInteraction& late) {
  late.query = {"[unused0]", "", kQueryLength};
  late.document = {"[unused1]", "", kDocumentLength, true};
  late.expansion.length = kQueryLength;
  late.skipped = punctuation();
  if (!document) return;
  const Json root = document->root();
  late.query.marker = text_at(root, "query_token_id", late.query.marker);
  late.document.marker = text_at(root, "doc_token_id", late.document.marker);
  late.query.length = late.expansion.length = length_at(root, "query_maxlen", kQueryLength);
  late.document.length = length_at(root, "doc_maxlen", kDocumentLength);
  late.expansion.attend = module_flag(root, "attend_to_mask_tokens", false);
  if (!module_flag(root, "mask_punctuation", true)) late.skipped.clear();
}

/// Whether config_sentence_transformers.json has settings that only PyLate writes there.
bool is_pylate(const Json& root) {
  constexpr std::string_view kKeys[] = {"query_prefix",   "document_prefix",    "query_length",
                                        "skiplist_words", "do_query_expansion", "document_length"};
  return text_at(root, "model_type") == "ColBERT" ||
         std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&](std::string_view key) { return root.find(key).has_value(); });
}

}  // namespace

LateInteraction LateInteraction::of_pylate(const Json& root) {
  LateInteraction late;
  read_pylate(root, late);
  return late;
}

LateInteraction LateInteraction::open(const ModelDirectory& directory,
                                      const SentenceModules& modules) {
  LateInteraction late;
  if (!modules.of_tokens) return late;
  if (!modules.present) {
    read_metadata(directory.find(file_names::kColbert), late);
    return late;
  }
  if (modules.mask_config) read_mask(directory.document(*modules.mask_config).root(), late);
  const JsonDocument* own = directory.find(file_names::kSentenceTransformers);
  const JsonDocument none = JsonDocument::parse("{}", "");
  const Json root = own ? own->root() : none.root();
  if (is_pylate(root)) {
    read_pylate(root, late);
  } else if (const JsonDocument* settings = transformer_settings(directory)) {
    read_lengths(settings->root(), late);
  }
  const std::string similarity = text_at(root, "similarity_fn_name", "maxsim");
  late.mean = similarity == "meanmaxsim";
  if (!late.mean && similarity != "maxsim" && similarity != "MaxSim") {
    refuse(root.at("similarity_fn_name"), "\"maxsim\" or \"meanmaxsim\"");
  }
  for (auto [side, name] : {std::pair(&late.query, "query"), {&late.document, "document"}}) {
    const auto prompt = modules.prompts.find(name);
    if (prompt != modules.prompts.end()) side->prompt = prompt->second;
    // A prompt that repeats the marker, as sentence-transformers saves it.
    if (!side->marker.empty() && side->prompt.starts_with(side->marker)) {
      side->prompt.erase(0, side->marker.size());
    }
  }
  return late;
}

}  // namespace bert
