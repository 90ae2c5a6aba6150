// WordPiece in one pass against a plain one that goes step by step, as the reference is written.
// The first byte chooses the flags, the rest is the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/engines/wordpiece.h"

using namespace bert;

namespace {

constexpr size_t kLongestWord = 12;
constexpr int32_t kUnknown = 0;

const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all = {
      "[UNK]",     "a",        "b",        "ab",         "abc",        "the",
      "##a",       "##b",      "##bc",     "##e",        "t",          "h",
      "e",         "##he",     "E",        "é",          "É",          "##é",
      "i",         "İ",        "##\u0307", "0",          "1",          "##0",
      "##01",      ".",        ",",        "[",          "]",          "#",
      "-",         "中",       "文",       "##文",       "。",         "—",
      "か",        "##\u3099", "ᄒ",       "##ᅡ",       "##ᆫ",       "ह",
      "##ि",       "न",        "ß",        "ss",         "σ",          "ς",
      "\u0301",    "😀",        "##\u302e", "\u302e",     "##\u0323",   ";",
      "K",         "k",        "豈",       "\U00020000", "\U00011935", "##\U00011930",
      "\U00011938"};
  return all;
}

struct Char {
  char32_t c;
  uint32_t begin;
  uint32_t end;
};
using Chars = std::vector<Char>;

// What one step does to a text: each new character replaces the next old one, or stands beside the
// last.
struct Change {
  char32_t c;
  bool replaces;
};

Chars transform(const Chars& old, const std::vector<Change>& changes) {
  Chars result;
  size_t used = 0;
  for (const Change& change : changes) {
    if (change.replaces) ++used;
    if (used == 0) std::abort();
    result.push_back({change.c, old[used - 1].begin, old[used - 1].end});
  }
  return result;
}

Chars decode(std::string_view text) {
  Chars chars;
  for (size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    chars.push_back({c.code_point, static_cast<uint32_t>(i), static_cast<uint32_t>(i + c.length)});
    i += c.length;
  }
  return chars;
}

Chars keep(const Chars& chars, unsigned dropped) {
  Chars kept;
  for (const Char& c : chars) {
    if (!(char_class(c.c) & dropped)) kept.push_back(c);
  }
  return kept;
}

Chars nfd(const Chars& chars) {
  std::vector<Change> changes;
  for (const Char& c : chars) {
    char32_t parts[4];
    const size_t n = decompose(c.c, parts);
    for (size_t i = 0; i < n; ++i) changes.push_back({parts[i], i == 0});
  }
  for (bool moved = true; moved;) {  // the definition of canonical order: swap neighbours
    moved = false;
    for (size_t i = 1; i < changes.size(); ++i) {
      const int before = combining_class(changes[i - 1].c);
      const int after = combining_class(changes[i].c);
      if (after == 0 || before <= after) continue;
      std::swap(changes[i - 1], changes[i]);
      moved = true;
    }
  }
  return transform(chars, changes);
}

Chars normalize(std::string_view text, const NormalizerOptions& options) {
  Chars chars = decode(text);
  if (options.clean_text) {
    chars = keep(chars, kCharRemoved);
    for (Char& c : chars) c.c = char_class(c.c) & kCharSpace ? U' ' : c.c;
  }
  std::vector<Change> changes;
  if (options.handle_chinese_chars) {
    for (const Char& c : chars) {
      const bool chinese = char_class(c.c) & kCharCjk;
      if (chinese) changes.push_back({' ', true});
      changes.push_back({c.c, !chinese});
      if (chinese) changes.push_back({' ', false});
    }
    chars = transform(chars, changes);
  }
  if (options.strip_accents) chars = keep(nfd(chars), kCharMark);
  if (options.lowercase) {
    changes.clear();
    for (const Char& c : chars) {
      char32_t lower[2];
      const size_t n = to_lower(c.c, lower);
      for (size_t i = 0; i < n; ++i) changes.push_back({lower[i], i == 0});
    }
    chars = transform(chars, changes);
  }
  return chars;
}

std::string utf8(const Char* first, const Char* last) {
  std::string text;
  for (; first != last; ++first) {
    char bytes[4];
    text.append(bytes, encode_utf8(first->c, bytes));
  }
  return text;
}

void split_word(const Char* first, const Char* last, int32_t word, std::vector<Piece>& out) {
  static const auto ids = [] {
    std::map<std::string, int32_t> map;
    for (size_t i = 0; i < pieces().size(); ++i) map[pieces()[i]] = static_cast<int32_t>(i);
    return map;
  }();
  std::vector<Piece> found;
  bool known = static_cast<size_t>(last - first) <= kLongestWord;
  for (const Char* begin = first; known && begin != last;) {
    const Char* end = last;
    while (end != begin && !ids.contains((begin == first ? "" : "##") + utf8(begin, end))) --end;
    known = end != begin;
    if (!known) break;
    found.push_back({ids.at((begin == first ? "" : "##") + utf8(begin, end)),
                     {begin->begin, (end - 1)->end},
                     word});
    begin = end;
  }
  if (!known) found = {{kUnknown, {first->begin, (last - 1)->end}, word}};
  out.insert(out.end(), found.begin(), found.end());
}

std::vector<Piece> plain(std::string_view text, const NormalizerOptions& options) {
  const Chars chars = normalize(text, options);
  std::vector<Piece> out;
  int32_t word = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= chars.size(); ++i) {
    const unsigned kind = i < chars.size() ? char_class(chars[i].c) : unsigned{kCharWhite};
    if (!(kind & (kCharWhite | kCharPunctuation))) continue;
    if (begin < i) split_word(&chars[begin], &chars[i - 1] + 1, word++, out);
    if (!(kind & kCharWhite)) split_word(&chars[i], &chars[i] + 1, word++, out);
    begin = i + 1;
  }
  return out;
}

/// One fast tokenizer per set of flags; its caches live from input to input.
struct Fast {
  explicit Fast(unsigned flags)
      : options{(flags & 1) == 0, (flags & 2) == 0, (flags & 4) == 0, (flags & 8) == 0} {
    for (const std::string& piece : pieces()) vocab.add(piece);
    vocab.close();
    model = std::make_unique<WordPiece>(vocab, WordPieceOptions{options, kLongestWord, kUnknown});
    scratch = std::make_unique<WordPiece::Scratch>(*model);
  }
  NormalizerOptions options;
  Vocab vocab{"##", 4 * kLongestWord};
  std::unique_ptr<WordPiece> model;
  std::unique_ptr<WordPiece::Scratch> scratch;
  PieceBuffer buffer;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 4096) return 0;
  static std::unique_ptr<Fast> all[16];
  auto& fast = all[data[0] % 16];
  if (!fast) fast = std::make_unique<Fast>(data[0] % 16);
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);

  std::vector<Piece> found;
  const PieceBuffer::Sink sink = [&](std::span<const Piece> portion) {
    found.insert(found.end(), portion.begin(), portion.end());
    return true;
  };
  fast->buffer.start(&sink, 1 + data[0] / 16);
  fast->scratch->next_word = 0;
  fast->model->run(text, 0, text.size(), false, *fast->scratch, fast->buffer);
  fast->buffer.flush();

  const std::vector<Piece> wanted = plain(text, fast->options);
  const auto same = [](const Piece& a, const Piece& b) {
    return a.id == b.id && a.offset == b.offset && a.word == b.word;
  };
  if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(), same)) std::abort();
  return 0;
}
