#pragma once

#include <algorithm>
#include <cstddef>

namespace bert {

/// Whether windows[window] is the one, among those that hold token `token` of the text, where it
/// has the most context (run_squad.py, _check_is_max_context): each token is owned once.
///   windows   in the order of the text; each holds its tokens [first, first + count)
template <typename Windows>
bool owns_token(const Windows& windows, size_t window, size_t token) {
  const auto holds = [&](size_t w) {
    return token >= windows[w].first && token < windows[w].first + windows[w].count;
  };
  const auto context = [&](size_t w) {
    const size_t before = token - windows[w].first, after = windows[w].count - 1 - before;
    return static_cast<double>(std::min(before, after)) +
           0.01 * static_cast<double>(windows[w].count);
  };
  const double mine = context(window);
  for (size_t w = window; w-- > 0 && holds(w);) {
    if (context(w) >= mine) return false;
  }
  for (size_t w = window + 1; w < windows.size() && holds(w); ++w) {
    if (context(w) > mine) return false;
  }
  return true;
}

}  // namespace bert
