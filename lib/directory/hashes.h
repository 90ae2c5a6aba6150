#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.h"
#include "directory/model_directory.h"

namespace bert {

/// A file of a model directory and the xxh64 of its bytes.
struct FileHash {
  std::string name;
  uint64_t hash = 0;
};

/// What decides rows besides options: config.json, the tokenizer's files, those that
/// SentenceModules reads, and the weights, as far as the directory has them. Reads all of them.
BERT_API std::vector<FileHash> hash_model(const ModelDirectory& directory);
/// Of one file, by its name without folders.
BERT_API FileHash hash_file(const std::string& path);

}  // namespace bert
