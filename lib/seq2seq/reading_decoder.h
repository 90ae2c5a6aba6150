#pragma once

#include <memory>
#include <optional>

#include "base/export.h"
#include "directory/model_directory.h"
#include "encoder/model.h"

namespace bert {

/// The decoder of a classifier that reads the text as its target, too, shifted by the token with
/// which targets begin (BartForSequenceClassification of transformers).
///
/// Throws Error naming the file.
BERT_API std::unique_ptr<const StatesReader> open_reading_decoder(
    const ModelDirectory& directory, std::optional<Precision> precision);

}  // namespace bert
