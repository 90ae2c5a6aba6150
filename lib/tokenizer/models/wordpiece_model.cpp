#include "tokenizer/models/wordpiece_model.h"

#include "text/unicode.h"

namespace bert {

std::unique_ptr<SubwordModel::Scratch> WordPieceModel::make_scratch() const {
  return std::make_unique<Scratch>();
}

void WordPieceModel::split(std::string_view word, SubwordModel::Scratch& scratch,
                           std::vector<Subword>& out) const {
  const size_t before = out.size();
  const auto add = [&](int32_t id, size_t begin, size_t end) {
    out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  };
  if (count_code_points(word) <= max_chars_ &&
      longest_first(vocab_, word, static_cast<Scratch&>(scratch).prefix_hashes, add)) {
    return;
  }
  out.resize(before);
  add(unk_id_, 0, word.size());
}

}  // namespace bert
