#include "tokenizer/text_counts.h"

#include <fmt/format.h>

namespace bert {

void TextCounts::add(const Encoding& encoding, int32_t unk_id) {
  replaced_ |= encoding.replaced_bytes > 0;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.is_added(i)) continue;
    const auto text = static_cast<size_t>(encoding.sequence_ids[i]);
    ++tokens_[text];
    unknown_tokens_[text] += encoding.input_ids[i] == unk_id;
  }
}

void TextCounts::end_text() {
  ++texts_;
  if (replaced_) invalid_utf8_.add(texts_);
  if (2 * unknown_tokens_[0] > tokens_[0] || 2 * unknown_tokens_[1] > tokens_[1]) {
    unknown_.add(texts_);
  }
  replaced_ = false;
  for (const size_t text : {0, 1}) tokens_[text] = unknown_tokens_[text] = 0;
}

std::vector<std::string> TextCounts::lines(std::string_view texts) const {
  std::vector<std::string> lines;
  const auto add = [&](const Fault& fault, const char* what) {
    if (fault.count == 0) return;
    lines.push_back(fmt::format("{} of {} {} {} (first: number {})", fault.count, texts_, texts,
                                what, fault.first));
  };
  add(invalid_utf8_, "had bytes that are not UTF-8, read as U+FFFD");
  add(unknown_, "have more unknown tokens than known ones: the vocabulary is not for such text");
  return lines;
}

}  // namespace bert
