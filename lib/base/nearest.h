#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The name of `names` that the user most likely meant by `wrong`: the name with the least edit
/// distance (insert, delete, replace, swap neighbours). "" if every distance is above a third of
/// the length of `wrong`.
BERT_API std::string nearest_name(std::string_view wrong, std::span<const std::string> names);

}  // namespace bert
