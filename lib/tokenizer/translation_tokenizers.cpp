#include "tokenizer/translation_tokenizers.h"

#include <fmt/format.h>

#include <unordered_set>

#include "io/json_writer.h"

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

TranslationTokenizers TranslationTokenizers::open(const std::string& directory) {
  return {Tokenizer::open(directory), Tokenizer::open_target(directory)};
}

std::vector<std::pair<std::string, std::string>> translation_files(
    const SentencePieceFile& source, const SentencePieceFile& target,
    const TranslationFilesOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("source.spm", sentencepiece_bytes(source));
  files.emplace_back("target.spm", sentencepiece_bytes(target));
  if (options.separate_vocabs) {
    files.emplace_back("vocab.json", vocab_json({&source}));
    files.emplace_back("target_vocab.json", vocab_json({&target}));
  } else {
    files.emplace_back("vocab.json", vocab_json({&source, &target}));
  }
  std::string config = "{\n  \"tokenizer_class\": \"MarianTokenizer\",\n";
  for (const auto& [key, value] :
       {std::pair{"source_lang", &options.source_lang}, {"target_lang", &options.target_lang}}) {
    if (!value->empty()) config += fmt::format("  \"{}\": {},\n", key, json_string(*value));
  }
  config += fmt::format(
      "  \"eos_token\": \"</s>\",\n  \"unk_token\": \"<unk>\",\n  \"pad_token\": \"<pad>\",\n"
      "  \"model_max_length\": {},\n  \"separate_vocabs\": {}\n}}\n",
      options.model_max_length, options.separate_vocabs);
  files.emplace_back("tokenizer_config.json", std::move(config));
  return files;
}

}  // namespace bert
