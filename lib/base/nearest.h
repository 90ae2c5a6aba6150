#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The name of `names` that `wrong` most likely meant: the least edit distance (insert, delete,
/// replace, swap of neighbours), at most a third of its length; "" where none is that close.
BERT_API std::string nearest_name(std::string_view wrong, std::span<const std::string> names);

}  // namespace bert
