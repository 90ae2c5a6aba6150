#include "predict/entity_choice.h"

#include <algorithm>

namespace bert {
namespace {

bool same_words(const EntityScore& a, const EntityScore& b) {
  return a.begin == b.begin && a.end == b.end;
}

bool holds(const EntityScore& outer, const EntityScore& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Whether two spans exclude each other where one may lie in another.
bool cross(const EntityScore& a, const EntityScore& b) {
  return a.begin < b.end && b.begin < a.end && !holds(a, b) && !holds(b, a);
}

void choose_nested(bool several, const std::vector<EntityScore>& spans,
                   std::vector<EntityScore>& chosen) {
  for (const EntityScore& span : spans) {
    const bool excluded = std::any_of(chosen.begin(), chosen.end(), [&](const EntityScore& other) {
      return same_words(span, other) ? !several : cross(span, other);
    });
    if (!excluded) chosen.push_back(span);
  }
}

void choose_flat(bool several, size_t words, const std::vector<EntityScore>& spans,
                 std::vector<EntityScore>& chosen) {
  constexpr uint32_t kFree = UINT32_MAX;
  std::vector<uint32_t> taken(words, kFree);  // [words] index of the chosen span that has it
  for (const EntityScore& span : spans) {
    bool excluded = false;
    for (size_t w = span.begin; w < span.end && !excluded; ++w) {
      excluded = taken[w] != kFree && !(several && same_words(span, chosen[taken[w]]));
    }
    if (excluded) continue;
    std::fill(taken.begin() + span.begin, taken.begin() + span.end,
              static_cast<uint32_t>(chosen.size()));
    chosen.push_back(span);
  }
}

}  // namespace

void choose_entities(const EntityRule& rule, size_t words, std::vector<EntityScore>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const EntityScore& a, const EntityScore& b) { return a.score > b.score; });
  std::vector<EntityScore> chosen;
  rule.nested ? choose_nested(rule.several, spans, chosen)
              : choose_flat(rule.several, words, spans, chosen);
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const EntityScore& a, const EntityScore& b) { return a.begin < b.begin; });
  spans.swap(chosen);
}

}  // namespace bert
