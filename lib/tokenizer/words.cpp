#include "tokenizer/words.h"

#include <algorithm>

#include "text/unicode.h"

namespace bert {

Offset without_blank(std::string_view text, Offset bytes) {
  const Offset whole = bytes;
  while (bytes.begin < bytes.end) {
    const DecodedChar c = decode_utf8(text, bytes.begin);
    if (!(char_class(c.code_point) & (kCharSpace | kCharWhite))) return bytes;
    bytes.begin += c.length;
  }
  return whole;
}

void encode_behind_blank(const Tokenizer& tokenizer, std::string_view text,
                         const EncodeOptions& options, Encoding& out, Tokenizer::Scratch& scratch) {
  tokenizer.encode(text, options, out, scratch);
  const size_t first = out.range(0).begin;
  if (!tokenizer.marks_beginnings() || first == out.size()) return;
  if (!tokenizer.continues_word(out.input_ids[first])) return;
  tokenizer.encode(" " + std::string(text), options, out, scratch);
  for (size_t i = 0; i < out.size(); ++i) {
    Offset& bytes = out.offsets[i];
    if (out.is_added(i)) continue;
    bytes.begin -= bytes.begin > 0 ? 1 : 0;
    bytes.end -= bytes.end > 0 ? 1 : 0;
  }
}

std::vector<int32_t> pipeline_words(const Tokenizer& tokenizer, std::string_view text,
                                    const Encoding& encoding) {
  if (tokenizer.marks_continuations()) return encoding.word_ids;
  const auto blank = [&](size_t i) { return i < text.size() && text[i] == ' '; };
  std::vector<int32_t> words;
  int32_t word = -1;
  for (size_t i = 0; i < encoding.size(); ++i) {
    const size_t begin = encoding.offsets[i].begin;
    const bool inside = begin > 0 && !blank(begin - 1) && !blank(begin);
    if (word < 0 || !inside || encoding.input_ids[i] == tokenizer.unk_id()) ++word;
    words.push_back(word);
  }
  return words;
}

}  // namespace bert
