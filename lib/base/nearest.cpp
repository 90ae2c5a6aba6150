#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace bert {
namespace {

constexpr size_t kLongestName = 64;

/// Optimal string alignment distance.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wrong, std::span<const std::string> names) {
  if (wrong.size() > kLongestName) return "";
  std::string best;
  size_t least = std::max<size_t>(1, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    if (name.size() > kLongestName) continue;
    const size_t d = distance(wrong, name);
    if (d < least) {
      least = d;
      best = name;
    }
  }
  return best;
}

}  // namespace bert
