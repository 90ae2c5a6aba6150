#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace bert {

/// A member of a JSON object, in the object's bytes.
struct JsonMember {
  std::string_view key;    ///< the literal, with its quotes
  std::string_view value;  ///< without blanks around it
  std::string_view bytes;  ///< key, colon and value
};

/// The members of `object`, valid JSON (JsonDocument), in order. Values are not looked into.
BERT_API std::vector<JsonMember> json_members(std::string_view object);

/// Appends `object`, valid JSON, with the members `added` behind its own, to `out`. A member of the
/// object whose key is also one of `added` is left out; all others keep their bytes and order.
BERT_API void append_with_members(std::string& out, std::string_view object,
                                  const std::vector<JsonMember>& added);

}  // namespace bert
