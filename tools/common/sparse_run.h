#pragma once

#include "common/embed_options.h"
#include "common/options.h"

namespace bert::tools {

/// embed --sparse: writes the vectors of a masked LM head; returns the exit status.
int run_sparse(const ModelOptions& models, const EmbedOptions& options, RowOptions& rows);

}  // namespace bert::tools
