#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "io/json.h"

namespace bert {

/// `value` as text, members and elements on lines of their own, each two blanks further in than
/// `indent`. Numbers that are no JSON become null.
BERT_API void append_json(std::string& out, Json value, const std::string& indent = "");

/// append_json_string by itself.
std::string json_string(std::string_view text);

}  // namespace bert
