#pragma once

#include <string>
#include <string_view>

#include "directory/model_directory.h"
#include "io/rows.h"

namespace bert {

/// check_model (doctor.h) of a directory whose model translates (model/seq2seq_config.h).
size_t check_seq2seq_model(const ModelDirectory& directory, Rows& rows, std::string_view name);

}  // namespace bert
