#pragma once

#include "base/export.h"
#include "inspect/bert_info.h"
#include "io/rows.h"

namespace bert {

/// The modules inside each other, with shapes and counts; layers of equal shape once.
BERT_API void write_tree(const ModelFiles& model, Rows& rows);

}  // namespace bert
