#include "tokenizer/frame.h"

#include <algorithm>

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

}  // namespace bert
