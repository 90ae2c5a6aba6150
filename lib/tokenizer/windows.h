#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bert {

/// Tokens [first, first + count) of a text that the model reads at once, inside their frame.
struct TokenWindow {
  size_t first = 0, count = 0;
  size_t end() const { return first + count; }
};

/// The tokens that two windows with room for `room` of them share: `wanted`, or half of the room
/// where that would leave no step.
inline size_t window_stride(size_t room, size_t wanted) {
  return wanted < room ? wanted : room / 2;
}

/// The windows of a text of `tokens` tokens, `stride` of them shared with the next; none if it has
/// no token. A stride that leaves no step makes steps of one token.
inline void cut_windows(size_t tokens, size_t room, size_t stride,
                        std::vector<TokenWindow>& windows) {
  windows.clear();
  const size_t step = room > stride ? room - stride : 1;
  for (size_t first = 0, last = 0; last < tokens; first += step) {
    last = std::min(first + room, tokens);
    windows.push_back({first, last - first});
  }
}

/// How the context of a token in a window is measured: by the shorter of its two sides.
enum class ContextRule {
  /// run_squad.py (_check_is_max_context): and a hundredth of the window's length. Questions,
  /// labels and vectors of tokens.
  run_squad,
  /// The first token of the text lacks nothing on its left, the last nothing on its right. Masked
  /// language models.
  open_ends
};

/// The context of token `token` of the text in windows[window], which holds it.
template <typename Windows>
double context_of(const Windows& windows, size_t window, size_t token, ContextRule rule) {
  const auto& w = windows[window];
  const size_t left = token - w.first, right = w.count - 1 - left;
  if (rule == ContextRule::run_squad) {
    return static_cast<double>(std::min(left, right)) + 0.01 * static_cast<double>(w.count);
  }
  constexpr double kWhole = 1e18;
  return std::min(window == 0 ? kWhole : static_cast<double>(left),
                  window + 1 == windows.size() ? kWhole : static_cast<double>(right));
}

/// The window that owns token `token` of the text: of those that hold it, the first in which it has
/// the most context. So each token counts once.
///   windows   in the order of the text; each holds its tokens [first, first + count)
///   near      one that holds it
template <typename Windows>
size_t owning_window(const Windows& windows, size_t near, size_t token,
                     ContextRule rule = ContextRule::run_squad) {
  const auto holds = [&](size_t w) {
    return token >= windows[w].first && token < windows[w].first + windows[w].count;
  };
  size_t best = near;
  while (best > 0 && holds(best - 1)) --best;
  double most = context_of(windows, best, token, rule);
  for (size_t w = best + 1; w < windows.size() && holds(w); ++w) {
    const double context = context_of(windows, w, token, rule);
    if (context > most) best = w, most = context;
  }
  return best;
}

/// Whether windows[window], which holds token `token`, owns it.
template <typename Windows>
bool owns_token(const Windows& windows, size_t window, size_t token) {
  return owning_window(windows, window, token) == window;
}

}  // namespace bert
