#pragma once

#include "tokenizer/files/tokenizer_draft.h"

namespace bert {

/// The tokenizer of a tokenizer.json, as the class takes it that the facts name. Throws Error
/// (no_input, data, unsupported) naming the file.
TokenizerDraft draft_of_tokenizer_json(const TokenizerFacts& facts);

}  // namespace bert
