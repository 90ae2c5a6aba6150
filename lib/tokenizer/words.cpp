#include "tokenizer/words.h"

#include <algorithm>

#include "text/unicode.h"

namespace bert {

namespace {

/// Where the white space ends that stands at byte `at`; at most `end`.
size_t skip_white(std::string_view text, size_t at, size_t end) {
  while (at < end) {
    const DecodedChar c = decode_utf8(text, at);
    if (!(char_class(c.code_point) & (kCharSpace | kCharWhite))) break;
    at += c.length;
  }
  return std::min(at, end);
}

}  // namespace

Offset without_blank(std::string_view text, Offset bytes) {
  const auto begin = static_cast<uint32_t>(skip_white(text, bytes.begin, bytes.end));
  return begin < bytes.end ? Offset{begin, bytes.end} : bytes;
}

std::vector<Offset> words_between_blanks(std::string_view text, size_t from) {
  std::vector<Offset> words;
  for (size_t at = skip_white(text, from, text.size()); at < text.size();) {
    const size_t begin = at;
    size_t behind = at;
    while (at < text.size() && behind == at) {
      at += decode_utf8(text, at).length;
      behind = skip_white(text, at, text.size());
    }
    words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at)});
    at = behind;
  }
  return words;
}

Offset behind_blanks(std::string_view text, Offset token) {
  const auto begin = static_cast<uint32_t>(skip_white(text, token.begin, text.size()));
  return {begin, std::max(token.end, begin + 1)};
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

/// Whether all tokens are of the text's first word, though they reach behind its first blank.
static bool is_unparted(std::string_view text, size_t before, const Encoding& encoding) {
  size_t end = 0;
  for (size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.word_ids[i] < 0 || encoding.offsets[i].end <= before) continue;
    if (encoding.word_ids[i] > 0) return false;
    end = encoding.offsets[i].end - before;
  }
  const size_t blank = text.find(' ', std::min(text.find_first_not_of(' '), text.size()));
  return blank != text.npos && end > blank + 1;
}

std::span<const int32_t> number_words(std::string_view text, size_t before,
                                      const Encoding& encoding, std::vector<int32_t>& scratch) {
  if (!is_unparted(text, before, encoding)) return encoding.word_ids;
  std::vector<int32_t>& words = scratch;
  words = encoding.word_ids;
  size_t at = 0;
  int32_t word = -1;
  for (size_t i = 0; i < encoding.size(); ++i) {
    const Offset bytes = encoding.offsets[i];
    if (words[i] < 0 || bytes.end <= before) {
      words[i] = -1;
      continue;
    }
    // Its last byte is in its word, whatever blanks it begins with.
    for (; at < bytes.end - before && at < text.size(); ++at) {
      if (text[at] != ' ' && (at == 0 || text[at - 1] == ' ')) ++word;
    }
    words[i] = std::max(word, 0);
  }
  return words;
}

}  // namespace bert
