#include "training/passes.h"

#include <algorithm>

namespace bert::training {
namespace {

/// At most `parts` parts of similar work.
std::vector<size_t> shares(const TrainingBatch& batch, const Network& network, size_t parts) {
  double total = 0;
  for (size_t s = 0; s < batch.sequences(); ++s) total += network.cost(batch, s);
  std::vector<size_t> bounds{0};
  double done = 0;
  for (size_t s = 0; s < batch.sequences(); ++s) {
    const double next = network.cost(batch, s);
    const double limit = total * static_cast<double>(bounds.size()) / static_cast<double>(parts);
    if (bounds.size() < parts && done + next / 2 > limit) bounds.push_back(s);
    done += next;
  }
  bounds.push_back(batch.sequences());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace

size_t pass_count(size_t tokens) {
  size_t count = 1;
  while (32 * (2 * count) * (2 * count) <= tokens) count *= 2;
  return count;
}

void cut_by_limit(const TrainingBatch& batch, size_t end, size_t max_tokens,
                  std::vector<size_t>& bounds) {
  while (bounds.back() < end) {
    const size_t first = bounds.back();
    size_t last = first + 1;
    while (last < end && batch.tokens(first, last + 1) <= max_tokens) ++last;
    bounds.push_back(last);
  }
}

Pass cut_pass(const TrainingBatch& batch, size_t first, size_t last, Pass pass,
              TrainingBatch& part) {
  slice(batch, first, last, part);
  pass.sequence_0 = first;
  pass.token_0 = batch.batch.begin(first);
  pass.target_0 = batch.target.empty() ? 0 : batch.target.begin(first);
  return pass;
}

std::vector<size_t> cut_passes(const TrainingBatch& batch, const Network& network,
                               size_t max_tokens) {
  const size_t tokens = batch.tokens(0, batch.sequences());
  const std::vector<size_t> parts = shares(batch, network, pass_count(tokens));
  std::vector<size_t> bounds{0};
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    cut_by_limit(batch, parts[i + 1], max_tokens, bounds);
  }
  return bounds;
}

}  // namespace bert::training
