#pragma once

#include <string_view>
#include <vector>

#include "base/export.h"
#include "io/record.h"
#include "tokenizer/encoding.h"

namespace bert {

/// The spans of a field such as "3-8 12-15", bytes of the record's text, half open. Throws
/// Error(data) naming the record for one that is no BEGIN-END within the text.
BERT_API std::vector<Offset> parse_spans(const Record& record, std::string_view field);

}  // namespace bert
