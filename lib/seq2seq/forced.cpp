#include "seq2seq/forced.h"

#include <algorithm>

namespace bert {
namespace {

constexpr size_t kTokensAtOnce = 512;  ///< tokens of targets that are computed at once

std::span<const int32_t> ids_of(const PackedBatch& batch, size_t s) {
  return std::span(batch.input_ids).subspan(batch.begin(s), batch.length(s));
}

void append(PackedBatch& batch, std::span<const int32_t> ids) {
  batch.append(ids, std::vector<int32_t>(ids.size(), 0));
}

}  // namespace

void force_targets(const Seq2Seq& model, const PackedBatch& sources,
                   std::span<const std::vector<int32_t>> targets,
                   std::vector<double>& log_probabilities, Team* team, const AttentionTrace* trace,
                   std::span<const int32_t> starts) {
  log_probabilities.assign(targets.size(), 0);
  Buffer hidden;
  OutputScratch scratch;
  scratch.team = team;
  Candidates found;
  for (size_t first = 0; first < targets.size();) {
    PackedBatch some, inputs;
    std::vector<int32_t> wanted;
    std::vector<int32_t> input;
    size_t last = first;
    do {
      append(some, ids_of(sources, last));
      input.assign(1, starts.empty() ? model.generation().start : starts[last]);
      const std::vector<int32_t>& ids = targets[last];
      if (!ids.empty()) input.insert(input.end(), ids.begin(), ids.end() - 1);
      if (ids.empty()) input.clear();
      append(inputs, input);
      wanted.insert(wanted.end(), ids.begin(), ids.end());
      ++last;
    } while (last < targets.size() && inputs.tokens() + targets[last].size() <= kTokensAtOnce);
    const Matrix rows = hidden.matrix(inputs.tokens(), model.output().width());  // [T, D]
    AttentionTrace shifted;
    if (trace) {
      shifted.wants = trace->wants;
      shifted.show = [&](const AttentionView& view) {
        AttentionView of_all = view;
        of_all.sequence += first;
        trace->show(of_all);
      };
    }
    model.teach(some, inputs, rows, team, trace ? &shifted : nullptr);
    CandidateRequest request;
    request.count = 0;
    request.sums = true;
    request.wanted = wanted;
    model.output().best(rows, request, found, scratch);
    for (size_t s = first, t = 0; s < last; ++s) {
      for (size_t i = 0; i < targets[s].size(); ++i, ++t) {
        log_probabilities[s] += double{found.wanted[t]} - found.sums[t];
      }
    }
    first = last;
  }
}

}  // namespace bert
