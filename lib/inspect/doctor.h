#pragma once

#include <cstddef>
#include <string_view>

#include "base/export.h"
#include "directory/model_directory.h"
#include "io/rows.h"

namespace bert {

/// level subject text, level being ok, warning or error: what may go wrong with this directory.
/// `name` comes first in each row, unless it is empty. Throws nothing but std::bad_alloc. Returns
/// the number of errors.
BERT_API size_t check_model(const ModelDirectory& directory, Rows& rows,
                            std::string_view name = "");

}  // namespace bert
