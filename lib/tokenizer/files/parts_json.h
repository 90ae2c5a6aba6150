#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "io/json.h"
#include "tokenizer/parts/tokenizer_parts.h"

namespace bert {

/// The member `normalizer`, `pre_tokenizer` or `decoder` of a tokenizer.json, null included, as a
/// list of steps. Throws Error (data, unsupported) naming the place in the file.
std::vector<NormalizerPart> read_normalizers(Json root);
std::vector<PreTokenizerPart> read_pre_tokenizers(Json root);
std::vector<DecoderPart> read_decoders(Json root);

/// The value of a flag; `fallback` if it is null or missing.
bool json_flag(Json object, std::string_view key, bool fallback);

/// The members of `part`, if it is a Sequence, or itself. `list` is the member's name.
void for_each_part(Json part, std::string_view list, const std::function<void(Json)>& use);

/// Throws Error(unsupported): the type of a part is none that we have.
[[noreturn]] void refuse_type(Json part);

}  // namespace bert
