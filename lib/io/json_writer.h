#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "io/json.h"

namespace bert {

/// Appends `value` as JSON text. Each member or element has a line of its own, indented by two
/// blanks more than `indent`. Numbers that are not finite become null.
BERT_API void append_json(std::string& out, Json value, const std::string& indent = "");

/// `text` as a JSON string literal, as append_json_string writes it.
BERT_API std::string json_string(std::string_view text);

}  // namespace bert
