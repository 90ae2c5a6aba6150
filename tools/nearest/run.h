#pragma once

#include "common/model_options.h"
#include "common/rank_report.h"
#include "common/row_options.h"
#include "rows/nearest_vectors.h"

namespace bert::tools {

/// Runs the mode that the options name; returns the exit status.
int run_nearest(NearestOptions options, RowOptions& rows, const ModelOptions& models,
                const RankReport& report);

}  // namespace bert::tools
