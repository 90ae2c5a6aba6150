#pragma once

#include <string>

#include "base/export.h"
#include "io/json.h"

namespace bert {

/// "an adapter of NAME", by the content of adapter_config.json, and what to do. With this file PEFT
/// marks a directory as an adapter: some tensors that change those of a whole model, which it
/// names. transformers loads both; the tools read whole models alone.
BERT_API std::string adapter_text(const Json& root);

/// Throws Error(unsupported) that names the model if the directory is an adapter's. Without this
/// the model that lies beside the adapter would answer in its place.
BERT_API void refuse_adapter(const std::string& directory);

}  // namespace bert
