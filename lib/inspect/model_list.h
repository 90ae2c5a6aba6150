#pragma once

#include "base/export.h"
#include "io/rows.h"

namespace bert {

/// name kind heads directory default: a row for each model that can be named, and for that of
/// $BERT_MODEL. kind is its model_type, `static`, or `broken` or `unsupported` with the reason in
/// place of the heads. The last field is `default` or `-`. Throws nothing but std::bad_alloc.
BERT_API void write_models(Rows& rows);

}  // namespace bert
