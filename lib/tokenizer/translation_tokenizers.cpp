#include "tokenizer/translation_tokenizers.h"

#include <fmt/format.h>

#include <unordered_set>

#include "directory/file_names.h"
#include "io/json_writer.h"
#include "tokenizer/classes.h"

namespace bert {
namespace {

/// The vocabulary of the files' pieces as JSON.
std::string vocab_json(const std::vector<const SentencePieceFile*>& files) {
  std::vector<std::string> tokens{"</s>", "<unk>"};
  std::unordered_set<std::string> known{"</s>", "<unk>", "<pad>"};
  for (const SentencePieceFile* file : files) {
    for (const auto& [text, score, type] : file->pieces) {
      const bool named =
          type == SentencePieceFile::Type::control || type == SentencePieceFile::Type::unknown;
      if (!named && known.insert(text).second) tokens.push_back(text);
    }
  }
  tokens.emplace_back("<pad>");
  std::string out = "{";
  for (size_t id = 0; id < tokens.size(); ++id) {
    out += fmt::format("{}\n  {}: {}", id == 0 ? "" : ",", json_string(tokens[id]), id);
  }
  return out + "\n}\n";
}

}  // namespace

TranslationTokenizers TranslationTokenizers::open(const ModelDirectory& directory) {
  const auto kept = directory.keep_large();  // both may read one vocab.json
  const Tokenizer source = Tokenizer::open(directory);
  const bool two = directory.has(file_names::kSourcePieces);
  return {source, two ? Tokenizer::open_target(directory) : source};
}

std::vector<std::pair<std::string, std::string>> translation_files(
    const SentencePieceFile& source, const SentencePieceFile& target,
    const TranslationFilesOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(file_names::kSourcePieces, sentencepiece_bytes(source));
  files.emplace_back(file_names::kTargetPieces, sentencepiece_bytes(target));
  if (options.separate_vocabs) {
    files.emplace_back(file_names::kVocabJson, vocab_json({&source}));
    files.emplace_back(file_names::kTargetVocab, vocab_json({&target}));
  } else {
    files.emplace_back(file_names::kVocabJson, vocab_json({&source, &target}));
  }
  std::string config = fmt::format("{{\n  \"tokenizer_class\": \"{}\",\n", marian_class().name);
  for (const auto& [key, value] :
       {std::pair{"source_lang", &options.source_lang}, {"target_lang", &options.target_lang}}) {
    if (!value->empty()) config += fmt::format("  \"{}\": {},\n", key, json_string(*value));
  }
  config += fmt::format(
      "  \"eos_token\": \"</s>\",\n  \"unk_token\": \"<unk>\",\n  \"pad_token\": \"<pad>\",\n"
      "  \"model_max_length\": {},\n  \"separate_vocabs\": {}\n}}\n",
      options.model_max_length, options.separate_vocabs);
  files.emplace_back(file_names::kTokenizerConfig, std::move(config));
  return files;
}

}  // namespace bert
