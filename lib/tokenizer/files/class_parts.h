#pragma once

#include "tokenizer/files/tokenizer_facts.h"
#include "tokenizer/parts/tokenizer_parts.h"

namespace bert {

// What classes of transformers make of the vocabulary, the merges and the scores of a
// tokenizer.json: `parts` as the file says them on the way in, as the class has them on the way
// out. The rows of classes.cpp name these.

void gemma_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
void llama_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
void gpt2_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
void qwen2_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
void qwen3_5_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);
void t5_parts(TokenizerParts& parts, const SpecialNames& names, const TokenizerFlags& flags);

}  // namespace bert
