#include "tokenizer/translation_tokenizers.h"

namespace bert {

TranslationTokenizers TranslationTokenizers::open(const std::string& directory) {
  return {Tokenizer::open(directory), Tokenizer::open_target(directory)};
}

}  // namespace bert
