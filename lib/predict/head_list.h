#pragma once

#include <string_view>
#include <vector>

#include "base/export.h"
#include "encoder/model.h"
#include "model/layers.h"

namespace bert {

/// The heads of a list like `3.7,4.*`: layer and head, counted from 1, each a number, a range or,
/// as `*`, all there are. Throws Error(usage) as parse_numbers does.
BERT_API std::vector<HeadPlace> parse_heads(std::string_view text, std::string_view field,
                                            const Config& config);

}  // namespace bert
