#include "tokenizer/wordpiece_model.h"

#include "text/unicode.h"

namespace bert {

std::unique_ptr<SubwordModel::Scratch> WordPieceModel::make_scratch() const {
  return std::make_unique<Scratch>();
}

void WordPieceModel::split(std::string_view word, SubwordModel::Scratch& scratch,
                           std::vector<Subword>& out) const {
  const size_t before = out.size();
  bool known = count_code_points(word) <= max_chars_;
  if (known) {
    auto& hashes = static_cast<Scratch&>(scratch).prefix_hashes;
    hashes.resize(word.size() + 1);
    hashes[0] = 0;
    for (size_t k = 0; k < word.size(); ++k) hashes[k + 1] = hash_append(hashes[k], word[k]);
    for (size_t start = 0, end = 0; known && start < word.size(); start = end) {
      const int32_t id = vocab_.longest_match(word, hashes.data(), start, end);
      known = id >= 0;
      if (known) out.push_back({id, static_cast<uint32_t>(start), static_cast<uint32_t>(end)});
    }
  }
  if (known) return;
  out.resize(before);
  out.push_back({unk_id_, 0, static_cast<uint32_t>(word.size())});
}

}  // namespace bert
