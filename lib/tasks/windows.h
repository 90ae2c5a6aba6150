#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bert {

/// Tokens [first, first + count) of a text.
struct TokenWindow {
  size_t first = 0, count = 0;
};

/// The tokens that two windows with room for `room` of them share: `wanted`, or half of the room
/// where that would leave no step.
inline size_t window_stride(size_t room, size_t wanted) {
  return wanted < room ? wanted : room / 2;
}

/// The windows of a text of `tokens` tokens; none if it has none.
inline void cut_windows(size_t tokens, size_t room, size_t stride,
                        std::vector<TokenWindow>& windows) {
  windows.clear();
  for (size_t first = 0, last = 0; last < tokens; first += room - stride) {
    last = std::min(first + room, tokens);
    windows.push_back({first, last - first});
  }
}

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
