#pragma once

#include "common/row_options.h"
#include "embed/options.h"

namespace bert::tools {

/// embed --compare --score bertscore. With --idf it reads the files twice. Returns the status.
int write_bert_score(Embedder& embedder, const VectorPlan& plan, const EmbedOptions& options,
                     RowOptions& rows);

}  // namespace bert::tools
