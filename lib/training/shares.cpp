#include "training/shares.h"

#include <algorithm>

namespace bert::training {

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

}  // namespace bert::training
