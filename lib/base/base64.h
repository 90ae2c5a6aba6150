#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The bytes that `text` stands for (RFC 4648, section 4, with padding); nullopt if it is not
/// base64.
std::optional<std::string> decode_base64(std::string_view text);

BERT_API std::string encode_base64(std::string_view bytes);

}  // namespace bert
