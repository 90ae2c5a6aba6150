#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bert {

/// Names of files that a reader asks for one by one; kModelFiles has the others.
namespace file_names {
inline constexpr std::string_view kConfig = "config.json";
inline constexpr std::string_view kGliner = "gliner_config.json";
inline constexpr std::string_view kGeneration = "generation_config.json";
inline constexpr std::string_view kModules = "modules.json";
inline constexpr std::string_view kRouter = "router_config.json";
inline constexpr std::string_view kCnn = "cnn_config.json";  ///< in a module's folder
inline constexpr std::string_view kSentenceTransformers = "config_sentence_transformers.json";
inline constexpr std::string_view kColbert = "artifact.metadata";
inline constexpr std::string_view kVocabTxt = "vocab.txt";
inline constexpr std::string_view kTokenizer = "tokenizer.json";
inline constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";
inline constexpr std::string_view kSpecialTokensMap = "special_tokens_map.json";
inline constexpr std::string_view kAddedTokens = "added_tokens.json";
inline constexpr std::string_view kVocabJson = "vocab.json";
inline constexpr std::string_view kMerges = "merges.txt";
inline constexpr std::string_view kSourcePieces = "source.spm";
inline constexpr std::string_view kTargetPieces = "target.spm";
inline constexpr std::string_view kTargetVocab = "target_vocab.json";
inline constexpr std::string_view kSafetensors = "model.safetensors";
inline constexpr std::string_view kPickle = "pytorch_model.bin";
inline constexpr std::string_view kIndexEnding = ".index.json";  ///< end of an index of shards
inline constexpr std::string_view kColbertLayer = "colbert_linear.pt";
inline constexpr std::string_view kSparseLayer = "sparse_linear.pt";
inline constexpr std::string_view kChatTemplate = "chat_template.jinja";
inline constexpr std::string_view kAdapter = "adapter_config.json";
}  // namespace file_names

/// What reads a file.
enum class FileRole : uint8_t {
  config,       ///< the model: what it is
  generation,   ///< a model that translates
  modules,      ///< sentence-transformers, PyLate and ColBERT: what becomes of the hidden states
  transformer,  ///< sentence-transformers' Transformer: the first that is there, others are old
  tokenizer,    ///< the tokenizer
  pieces,       ///< the tokenizer: a model of sentencepiece, the first that is there
  weights,      ///< the tensors: the first that is there
  layers,       ///< BGE-M3: what becomes of each token's state
  adapter,      ///< an adapter of PEFT, which changes a model
  names,        ///< GLiNER: the encoder, and what finds entities over it
  about,        ///< people
};

/// What is done with the files of a role besides reading them.
struct FileUse {
  bool pulled;  ///< bert-pull fetches them; of weights it fetches those that would be read
  bool hashed;  ///< --meta hashes them; those of modules, and weights, if they are read
  bool stale;   ///< files of a model that stood here before are removed: they would be read
};

constexpr FileUse use_of(FileRole role) {
  constexpr FileUse kUses[] = {
      // pulled hashed stale
      {true, true, false},   // config
      {true, true, false},   // generation
      {true, false, true},   // modules
      {true, false, true},   // transformer
      {true, true, true},    // tokenizer
      {true, true, true},    // pieces
      {false, false, true},  // weights
      {true, true, true},    // layers
      {true, true, true},    // adapter
      {true, true, true},    // names
      {false, false, false}  // about
  };
  return kUses[static_cast<size_t>(role)];
}

struct ModelFile {
  std::string_view name;
  FileRole role;
};

/// The files of a model directory: the one list that loading, bert-pull, --meta, --check and
/// copying share. Its order is that of --meta, and of "the first that is there".
inline constexpr ModelFile kModelFiles[] = {
    {file_names::kConfig, FileRole::config},
    {file_names::kGliner, FileRole::names},
    {file_names::kGeneration, FileRole::generation},
    {file_names::kModules, FileRole::modules},
    {file_names::kRouter, FileRole::modules},
    {file_names::kCnn, FileRole::modules},
    {"sentence_bert_config.json", FileRole::transformer},
    {"sentence_roberta_config.json", FileRole::transformer},
    {"sentence_distilbert_config.json", FileRole::transformer},
    {"sentence_camembert_config.json", FileRole::transformer},
    {"sentence_albert_config.json", FileRole::transformer},
    {"sentence_xlm-roberta_config.json", FileRole::transformer},
    {"sentence_xlnet_config.json", FileRole::transformer},
    {file_names::kSentenceTransformers, FileRole::modules},
    {file_names::kColbert, FileRole::modules},
    {file_names::kVocabTxt, FileRole::tokenizer},
    {file_names::kTokenizer, FileRole::tokenizer},
    {file_names::kTokenizerConfig, FileRole::tokenizer},
    {file_names::kSpecialTokensMap, FileRole::tokenizer},
    {file_names::kChatTemplate, FileRole::tokenizer},
    {file_names::kAddedTokens, FileRole::tokenizer},
    {file_names::kVocabJson, FileRole::tokenizer},
    {file_names::kMerges, FileRole::tokenizer},
    {"sentencepiece.bpe.model", FileRole::pieces},
    {"spiece.model", FileRole::pieces},
    {"spm.model", FileRole::pieces},
    {file_names::kSourcePieces, FileRole::tokenizer},
    {file_names::kTargetPieces, FileRole::tokenizer},
    {file_names::kTargetVocab, FileRole::tokenizer},
    {"sentencepiece.model", FileRole::pieces},
    {"tokenizer.model", FileRole::pieces},
    {file_names::kSafetensors, FileRole::weights},
    {"model.safetensors.index.json", FileRole::weights},
    {file_names::kPickle, FileRole::weights},
    {"pytorch_model.bin.index.json", FileRole::weights},
    {file_names::kColbertLayer, FileRole::layers},
    {file_names::kSparseLayer, FileRole::layers},
    {file_names::kAdapter, FileRole::adapter},
    {"adapter_model.safetensors", FileRole::adapter},
    {"adapter_model.bin", FileRole::adapter},
    {"README.md", FileRole::about},
    {"LICENSE", FileRole::about},
    {"NOTICE", FileRole::about}};

constexpr bool is_tokenizer_file(const ModelFile& file) {
  return file.role == FileRole::tokenizer || file.role == FileRole::pieces;
}

/// Whether a file, by its name or "FOLDER/NAME", is one of sentence-transformers' modules: what
/// modules.json names is no name of the list.
constexpr bool stands_beside_modules(std::string_view name) {
  for (const ModelFile& file : kModelFiles) {
    if (file.name == name) return file.role == FileRole::modules;
  }
  return true;
}

/// Whether a directory that has this file is taken for a model: by -m, --check and bert-pull.
constexpr bool marks_model(std::string_view name) {
  return name == file_names::kConfig || name == file_names::kModules ||
         name == file_names::kAdapter || name == file_names::kGliner;
}

}  // namespace bert
