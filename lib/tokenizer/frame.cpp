#include "tokenizer/frame.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bert {
namespace {

Frame make_frame(std::string_view pattern, const SpecialNames& names) {
  const size_t texts = pattern.find('B') == std::string_view::npos ? 1 : 2;
  Frame frame;
  for (size_t seen = 0; !pattern.empty();) {
    std::string_view word = pattern.substr(0, pattern.find(' '));
    pattern.remove_prefix(std::min(word.size() + 1, pattern.size()));
    const int32_t type_id = word.ends_with(":1") ? 1 : 0;
    word = word.substr(0, word.find(':'));
    if (word == "A" || word == "B") {
      frame.type_ids[seen++] = type_id;
      continue;
    }
    const auto key = std::find(kSpecialKeys.begin(), kSpecialKeys.end(), word);
    const auto special = static_cast<Special>(key - kSpecialKeys.begin());
    auto& place = seen == 0 ? frame.before : seen == texts ? frame.after : frame.between;
    place.push_back({names[special], type_id});
  }
  return frame;
}

}  // namespace

Frames make_frames(const FrameTemplate& pattern, const SpecialNames& names) {
  return {.single = make_frame(pattern.single, names), .pair = make_frame(pattern.pair, names)};
}

const Language* Languages::find(std::string_view name) const {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Language& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

namespace {

char small(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c); }

/// How many letters are to be changed, put in or left out until both are one (Levenshtein).
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t same = corner + (small(a[i - 1]) != small(b[j - 1]));
      corner = row[j];
      row[j] = std::min({same, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// How many letters both begin with.
size_t beginning(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && small(a[n]) == small(b[n])) ++n;
  return n;
}

}  // namespace

std::vector<std::string_view> Languages::near(std::string_view name, size_t count) const {
  // Names that begin alike come first: eng_Latn for en.
  const auto far = [&](const Language& one) {
    return std::pair(-static_cast<ptrdiff_t>(beginning(name, one.name)), edits(name, one.name));
  };
  std::vector<const Language*> all;
  for (const Language& one : list) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(),
                   [&](const Language* a, const Language* b) { return far(*a) < far(*b); });
  std::vector<std::string_view> names;
  for (const Language* one : all) {
    if (names.size() < count) names.push_back(one->name);
  }
  return names;
}

}  // namespace bert
