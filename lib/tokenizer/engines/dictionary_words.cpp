#include "tokenizer/engines/dictionary_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/mapped_file.h"
#include "text/unicode.h"

namespace bert {
namespace {

constexpr size_t kLongestEntry = 1000;  // bytes: time per character of a text is bounded by it
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

/// Letters and digits that a word of several is made of.
bool is_letter(char32_t c) {
  return (char_class(c) & (kCharLetter | kCharNumber | kCharAnyMark)) && !is_unspaced(c);
}

bool separates(char32_t c) {
  return (char_class(c) & kCharWhite) || c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/// Whether a word may end before text[i].
bool is_border(std::string_view text, size_t i) {
  if (i == 0 || i == text.size()) return true;
  constexpr char32_t kJoiner = 0x200D;  // of emoji
  const char32_t next = decode_utf8(text, i).code_point;
  if ((char_class(next) & kCharAnyMark) || next == kJoiner) return false;  // of the one before it
  if (char_before(text, i) == kJoiner) return separates(next);
  return !is_letter(next) || !is_letter(char_before(text, i));
}

std::string_view trimmed(std::string_view line) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\r'; };
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace

DictionaryWords::DictionaryWords(const Vocab& vocab)
    : entries_(vocab.pieces(), [&](size_t id) { return vocab.text(static_cast<int32_t>(id)); }) {}

/// The end of the longest entry at text[i]; `i`: there is none.
size_t DictionaryWords::longest(std::string_view text, size_t i, int32_t& id) const {
  size_t end = i;
  const PieceTrie::Edge* edge = nullptr;
  for (size_t at = i; at < text.size();) {
    const DecodedChar c = decode_utf8(text, at);
    if (!c.valid) break;
    const uint64_t key =
        edge ? PieceTrie::next(*edge, c.code_point) : PieceTrie::first(c.code_point);
    edge = key == 0 ? nullptr : entries_.find(key);
    if (!edge) break;
    at += c.length;
    if (edge->value < 0 || !is_border(text, at)) continue;
    end = at;
    id = edge->value;
  }
  return end;
}

void DictionaryWords::run(std::string_view whole, size_t begin, size_t end, bool /*literal*/,
                          Scratch& scratch, PieceBuffer& out) const {
  const std::string_view text = whole.substr(0, end);
  for (size_t i = begin; i < end && !out.stopped();) {
    const DecodedChar c = decode_utf8(text, i);
    if (!c.valid || separates(c.code_point)) {
      scratch.replaced += c.valid ? 0 : 1;
      i += c.length;
      continue;
    }
    int32_t id = kUnknown;
    size_t next = longest(text, i, id);
    if (next == i) {
      do {
        next += decode_utf8(text, next).length;
      } while (!is_border(text, next));
    }
    out.push({id, {static_cast<uint32_t>(i), static_cast<uint32_t>(next)}, scratch.next_word++});
    out.flush_if_full();
    i = next;
  }
}

Vocab read_dictionary(const std::string& path) {
  const MappedFile file = MappedFile::open(path, kMostBytes);
  std::string_view rest = file.text();
  refuse_other_kind(rest, path, "a list of words");
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  Vocab vocab("", 0);
  size_t entries = 0;
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line = trimmed(line.substr(0, line.find('\t')));
    const auto bad = [&](const std::string& what) {
      throw Error(Error::Kind::data, fmt::format("{}: line {}", path, number), what);
    };
    if (line.size() > kLongestEntry) {
      bad(fmt::format("has {} bytes, wants one word a line, of at most {}", line.size(),
                      kLongestEntry));
    }
    if (!is_utf8(line)) bad("is not UTF-8");
    if (vocab.size() >= INT32_MAX) bad("is one line too many");
    vocab.add(line);
    entries += line.empty() ? 0 : 1;
  }
  if (entries == 0) throw Error(Error::Kind::data, path, "has no words, wants one a line");
  vocab.close();
  return vocab;
}

}  // namespace bert
