#include "rows/mlm_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "tokenizer/truncation.h"
#include "tokenizer/words.h"

namespace bert {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The last character of `text`; 0 if it is empty.
char32_t last_char(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < 4) {
    --begin;
    if ((text[begin] & 0xC0) != 0x80) break;
  }
  return begin < text.size() ? decode_utf8(text, begin).code_point : 0;
}

/// Whether `c` is part of a word that blanks set off from the next.
bool spaced(char32_t c) {
  return c != 0 && !(char_class(c) & (kCharCjk | kCharPunctuation | kCharSpace | kCharWhite)) &&
         !(c >= 0x3040 && c <= 0x30FF);  // kana
}

}  // namespace

void OrderFreeSum::add(double value) {
  if (std::isfinite(value)) units_ += std::llround(value * kUnits);
}

void UnknownCount::add(uint64_t record, uint64_t more) {
  if (more > 0) *this += {more, record};
}

UnknownCount& UnknownCount::operator+=(const UnknownCount& other) {
  if (other.count > 0) first = count > 0 ? std::min(first, other.first) : other.first;
  count += other.count;
  return *this;
}

void TokenizedText::ids_of(const TokenWindow& window, std::vector<int32_t>& out) const {
  const auto ids = encoding.input_ids.begin();
  const auto at = [&](size_t i) { return ids + static_cast<ptrdiff_t>(i); };
  out.assign(ids, at(front));
  out.insert(out.end(), at(front + window.first), at(front + window.end()));
  out.insert(out.end(), at(encoding.size() - back), encoding.input_ids.end());
}

void MlmWorker::tokenize(const Record& record, std::string_view text, TokenizedText& out,
                         Offset own) {
  const bool cut = options_.overflow != Overflow::window;
  tokenize_to(cut ? options_.encode.max_length : 0, record, text, out);
  note(record, out.encoding, own);
}

/// `max_length` 0: whole.
void MlmWorker::tokenize_to(size_t max_length, const Record& record, std::string_view text,
                            TokenizedText& out) {
  out.encoding.clear();
  EncodeOptions encode = options_.encode;
  encode.max_length = max_length;
  if (tokens_) {
    split_tokens(record, text, encode, out.encoding);
  } else {
    tokenizer_.encode(text, encode, out.encoding, scratch_);
    const auto words = number_words(text, 0, out.encoding, numbers_);
    if (words.data() == numbers_.data()) out.encoding.word_ids.swap(numbers_);
  }
  out.front = tokenizer_.frame().before.size();
  out.back = tokenizer_.frame().after.size();
}

void MlmWorker::split_tokens(const Record& record, std::string_view text,
                             const EncodeOptions& encode, Encoding& out) {
  const std::vector<std::string_view> tokens = split(text, ' ', EmptyParts::skip);
  const size_t room = content_limit(encode, tokenizer_.added_tokens_single());
  out.dropped = tokens.size() - std::min(tokens.size(), room);
  // The last tokens that stay, and the first ones, between which the dropped ones stood.
  const size_t tail = out.dropped > 0 ? std::min(encode.tail, room) : 0;
  const size_t head = std::min(tokens.size(), room) - tail;
  FramedText framed(tokenizer_.frame(), out);
  int32_t word = -1;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const auto id = tokenizer_.token_to_id(tokens[t]);
    if (!id) {
      record.fail(
          Error::Kind::data,
          fmt::format("no token '{}' in the vocabulary; `tokens` reads what tokenize writes",
                      printable(tokens[t])));
    }
    if (word < 0 || !tokenizer_.continues_word(*id)) ++word;
    if (t >= head && t < head + out.dropped) continue;
    const auto begin = static_cast<uint32_t>(tokens[t].data() - text.data());
    framed.push(*id, {begin, begin + static_cast<uint32_t>(tokens[t].size())}, word);
  }
  framed.finish();
  if (tokenizer_.marks_beginnings()) find_words(out);
}

/// The words of tokens whose marks tell only blanks: those of the text that the tokens spell.
void MlmWorker::find_words(Encoding& out) {
  const Encoding::Range range = out.range(0);
  std::string text;
  std::vector<size_t> ends;
  for (size_t i = range.begin; i < range.end; ++i) {
    const int32_t id = out.input_ids[i];
    const bool special = tokenizer_.is_special(id);
    if (!text.empty() && !special && !tokenizer_.continues_word(id)) text += ' ';
    text += special ? tokenizer_.token(id) : tokenizer_.piece_text(id);
    ends.push_back(text.size());
  }
  EncodeOptions plain;
  plain.add_special_tokens = false;
  words_.clear();
  tokenizer_.encode(text, plain, words_, scratch_);
  for (size_t i = 0, k = 0; i < ends.size() && words_.size() > 0; ++i) {
    while (k + 1 < words_.size() && words_.offsets[k].end < ends[i]) ++k;
    out.word_ids[range.begin + i] = words_.word_ids[k];
  }
}

int32_t MlmWorker::word_of(std::span<const Offset> words, std::string_view text, Offset token) {
  const uint32_t last = behind_blanks(text, token).end - 1;
  const auto behind =
      std::upper_bound(words.begin(), words.end(), last,
                       [](uint32_t byte, const Offset& word) { return byte < word.begin; });
  return static_cast<int32_t>(behind - words.begin()) - 1;
}

std::vector<TokenWindow> MlmWorker::windows_of(const TokenizedText& text) const {
  const size_t count = text.count();
  if (options_.overflow != Overflow::window) return {{0, count}};
  std::vector<TokenWindow> windows;
  cut_windows(count, options_.encode.max_length - text.front - text.back, options_.stride, windows);
  return windows;
}

std::vector<std::pair<size_t, int32_t>> MlmWorker::parse_labels(const Record& record,
                                                                std::string_view labels) const {
  std::vector<std::pair<size_t, int32_t>> items;
  for (const std::string_view item : split(labels, ' ', EmptyParts::skip)) {
    std::string_view rest = item;
    const auto index = take_number<size_t>(rest);
    const bool colon = index && rest.starts_with(':');
    const auto id = colon ? tokenizer_.token_to_id(rest.substr(1)) : std::nullopt;
    if (!id) {
      record.fail(Error::Kind::data,
                  fmt::format("found the label '{}', wants index:token", printable(item)));
    }
    items.emplace_back(*index, *id);
  }
  std::sort(items.begin(), items.end());
  for (size_t i = 1; i < items.size(); ++i) {
    if (items[i].first == items[i - 1].first) {
      record.fail(Error::Kind::data, fmt::format("found two labels of token {}", items[i].first));
    }
  }
  return items;
}

bool words_meet(std::string_view left, std::string_view right) {
  return !right.empty() && spaced(last_char(left)) && spaced(decode_utf8(right, 0).code_point);
}

size_t mask_window(std::span<const TokenWindow> windows, size_t token) {
  size_t near = 0;
  while (token >= windows[near].end()) ++near;
  return owning_window(windows, near, token, ContextRule::open_ends);
}

void append_piece(std::string& out, std::string_view piece, PieceJoin join, size_t least) {
  if (join == PieceJoin::glued) {
    size_t end = out.size();
    while (end > least && is_blank(out[end - 1])) --end;
    if (end > 0) out.resize(end);
  }
  const bool wants_blank = join == PieceJoin::beside   ? words_meet(out, piece)
                           : join == PieceJoin::spaced ? !out.empty() && !is_blank(out.back())
                                                       : false;
  if (wants_blank) out += ' ';
  out += piece;
}

void mend_pieces(std::string& out, size_t begin) {
  constexpr std::string_view kUnknown = "\xEF\xBF\xBD";
  const auto is_control = [](char c) { return c == 0 || c == 0x09 || c == 0x0A || c == 0x0D; };
  std::string mended;
  for (size_t i = begin; i < out.size();) {
    const Utf8Step step = utf8_step(out, i);
    if (!step.valid) {
      mended += kUnknown;
    } else if (is_control(out[i])) {
      mended += ' ';
    } else {
      mended.append(out, i, step.length);
    }
    i += step.length;
  }
  out.replace(begin, out.npos, mended);
}

std::string score_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

}  // namespace bert
