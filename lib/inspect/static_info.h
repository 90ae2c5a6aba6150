#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "directory/static_files.h"
#include "io/rows.h"

namespace bert {

/// key value: a directory of static vectors. Throws Error as its parts do when they are opened.
BERT_API void write_static_summary(const ModelDirectory& directory, const StaticFiles& files,
                                   Rows& rows);

/// check_model (doctor.h) of a directory of static vectors.
size_t check_static_model(const ModelDirectory& directory, const StaticFiles& files, Rows& rows,
                          std::string_view name);

}  // namespace bert
