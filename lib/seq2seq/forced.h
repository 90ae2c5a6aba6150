#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/export.h"
#include "encoder/packed_batch.h"
#include "seq2seq/decoder.h"

namespace bert {

/// Log-probabilities of given targets: of target s the sum of log P(token | source, tokens before)
/// over all of its ids, which have the end token and not the start token. A target's bits do not
/// depend on the others. `log_probabilities` [S]; `trace` may be nullptr. `starts` [S] are the
/// tokens that targets begin with; none: the model's.
///
/// Throws Error(data) as Decoding::add and step do.
BERT_API void force_targets(const Seq2Seq& model, const PackedBatch& sources,
                            std::span<const std::vector<int32_t>> targets,
                            std::vector<double>& log_probabilities, Team* team = nullptr,
                            const AttentionTrace* trace = nullptr,
                            std::span<const int32_t> starts = {});

}  // namespace bert
