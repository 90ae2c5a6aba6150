#include "tokenizer/parts/pre_tokenizer.h"

#include <algorithm>
#include <string_view>

#include "text/unicode.h"
#include "tokenizer/parts/byte_level.h"

namespace bert {
namespace {

using Kind = PreTokenizerPart::Kind;
using Match = PreTokenizer::Match;
using Matches = std::vector<Match>;

/// Every character that `is_found` accepts is a match of its own.
template <typename IsFound>
void match_chars(std::string_view text, Matches& out, IsFound is_found) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < text.size();) {
    const DecodedChar c = decode_utf8(text, i);
    if (is_found(c.code_point)) {
      if (done < i) out.push_back({done, i, false});
      out.push_back({i, i + c.length, true});
      done = i + c.length;
    }
    i += c.length;
  }
  if (done < text.size()) out.push_back({done, static_cast<uint32_t>(text.size()), false});
}

void match_text(std::string_view text, std::string_view pattern, Matches& out) {
  size_t done = 0;
  while (!pattern.empty()) {
    const size_t at = text.find(pattern, done);
    if (at == std::string_view::npos) break;
    if (done < at) out.push_back({static_cast<uint32_t>(done), static_cast<uint32_t>(at), false});
    done = at + pattern.size();
    out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(done), true});
  }
  if (done < text.size()) {
    out.push_back({static_cast<uint32_t>(done), static_cast<uint32_t>(text.size()), false});
  }
}

void match_words(std::string_view text, WordPattern pattern, Matches& out) {
  for (size_t i = 0; i < text.size();) {
    const size_t end = word_end(pattern, text, i);
    out.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(end), true});
    i = end;
  }
}

/// The pattern "\w+|[^\w\s]+".
void match_whitespace(std::string_view text, Matches& out) {
  const auto kind_at = [&](size_t i, uint32_t& length) {
    const DecodedChar c = decode_utf8(text, i);
    length = c.length;
    const unsigned kind = char_class(c.code_point);
    return kind & kCharWord ? 1 : kind & kCharWhite ? 0 : 2;
  };
  uint32_t length = 0;
  for (uint32_t i = 0; i < text.size();) {
    const int kind = kind_at(i, length);
    uint32_t end = i + length;
    while (end < text.size() && kind_at(end, length) == kind) end += length;
    out.push_back({i, end, kind != 0});
    i = end;
  }
}

/// Joins matches to their neighbours. Afterwards `found` says what is thrown away.
void behave(SplitBehaviour behaviour, bool invert, Matches& matches) {
  if (invert) {
    for (Match& m : matches) m.found = !m.found;
  }
  if (behaviour == SplitBehaviour::removed) return;
  const bool backwards = behaviour == SplitBehaviour::merged_with_next;
  if (backwards) std::reverse(matches.begin(), matches.end());
  size_t size = 0;
  bool previous = false;
  for (const Match m : matches) {
    const bool joins = behaviour == SplitBehaviour::isolated     ? false
                       : behaviour == SplitBehaviour::contiguous ? m.found == previous
                                                                 : m.found && !previous;
    previous = m.found;
    if (joins && size > 0) {
      Match& last = matches[size - 1];
      last = {std::min(last.begin, m.begin), std::max(last.end, m.end), false};
    } else {
      matches[size++] = {m.begin, m.end, false};
    }
  }
  matches.resize(size);
  if (backwards) std::reverse(matches.begin(), matches.end());
}

void append_part(const NormalText& in, size_t begin, size_t end, NormalText& out) {
  out.text.append(in.text, begin, end - begin);
  out.origins.insert(out.origins.end(), in.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                     in.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

void end_word(WordList& out) {
  const auto end = static_cast<uint32_t>(out.text.text.size());
  if (end > (out.ends.empty() ? 0 : out.ends.back())) out.ends.push_back(end);
}

/// The parts of `word` that stay, as words.
void append_matches(const NormalText& word, const Matches& matches, WordList& out) {
  for (const Match& m : matches) {
    if (m.found) continue;
    append_part(word, m.begin, m.end, out.text);
    end_word(out);
  }
}

void run_metaspace(const PreTokenizerPart& part, const NormalText& word, WordList& out) {
  using Prepend = PreTokenizerPart::Prepend;
  const std::string& mark = part.replacement;
  const std::string_view text = word.text;
  const bool marked = text.starts_with(mark) || text[0] == ' ';
  const bool wanted = part.prepend == Prepend::always ||
                      (part.prepend == Prepend::first && word.origins[0].begin == 0);
  if (wanted && !marked) out.text.append(mark, word.origins[0]);
  for (size_t i = 0; i < text.size();) {
    const bool blank = text[i] == ' ';
    const size_t length = utf8_step(text, i).length;
    if (blank || text.substr(i, length) == mark) {
      if (part.split && i > 0) end_word(out);
      out.text.append(mark, word.origins[i]);
    } else {
      append_part(word, i, i + length, out.text);
    }
    i += length;
  }
  end_word(out);
}

/// Spells the bytes of word[begin, end) as characters.
void append_spelt(const NormalText& word, size_t begin, size_t end, WordList& out) {
  for (size_t i = begin; i < end; ++i) {
    char bytes[4];
    const size_t n = encode_utf8(byte_level_char(static_cast<unsigned char>(word.text[i])), bytes);
    out.text.append({bytes, n}, word.origins[i]);
  }
  end_word(out);
}

void run_byte_level(const PreTokenizerPart& part, NormalText& word, WordList& out) {
  if (part.add_prefix_space && word.text[0] != ' ') {
    word.text.insert(0, 1, ' ');
    word.origins.insert(word.origins.begin(), word.origins[0]);
  }
  size_t begin = 0;
  while (begin < word.text.size()) {
    const size_t end = part.use_regex ? byte_level_word_end(word.text, begin) : word.text.size();
    append_spelt(word, begin, end, out);
    begin = end;
  }
}

/// The matches of a part that only cuts.
void find_matches(const PreTokenizerPart& part, std::string_view text, Matches& out) {
  const auto is = [](unsigned wanted) {
    return [wanted](char32_t c) { return (char_class(c) & wanted) != 0; };
  };
  switch (part.kind) {
    case Kind::whitespace_split:
      match_chars(text, out, is(kCharWhite));
      break;
    case Kind::punctuation:
      match_chars(text, out, is(kCharPunctuation));
      break;
    case Kind::split_text:
      match_text(text, part.pattern, out);
      break;
    case Kind::split_words:
      match_words(text, part.words, out);
      break;
    default:
      match_whitespace(text, out);
  }
}

PreTokenizerPart cut(Kind kind, SplitBehaviour behaviour, bool invert = false) {
  PreTokenizerPart part;
  part.kind = kind;
  part.behaviour = behaviour;
  part.invert = invert;
  return part;
}

/// What has a behaviour of its own, as parts that have one.
std::vector<PreTokenizerPart> in_simple_parts(std::vector<PreTokenizerPart> parts) {
  std::vector<PreTokenizerPart> simple;
  for (PreTokenizerPart& part : parts) {
    switch (part.kind) {
      case Kind::bert:
        simple.push_back(cut(Kind::whitespace_split, SplitBehaviour::removed));
        simple.push_back(cut(Kind::punctuation, SplitBehaviour::isolated));
        break;
      case Kind::whitespace_split:
        simple.push_back(cut(Kind::whitespace_split, SplitBehaviour::removed));
        break;
      case Kind::whitespace:
        simple.push_back(cut(Kind::whitespace, SplitBehaviour::removed, true));
        break;
      default:
        simple.push_back(std::move(part));
    }
  }
  return simple;
}

/// Whether a part always ends a word before a blank between two letters or digits.
bool always_cuts(const PreTokenizerPart& part) {
  const SplitBehaviour b = part.behaviour;
  switch (part.kind) {
    case Kind::whitespace:
    case Kind::whitespace_split:
      return true;
    case Kind::byte_level:
      return part.use_regex;
    case Kind::metaspace:
      return part.split && static_cast<signed char>(part.replacement[0]) < 0;
    case Kind::split_text:
      return part.pattern == " " && !part.invert &&
             (b == SplitBehaviour::removed || b == SplitBehaviour::isolated ||
              b == SplitBehaviour::merged_with_next);
    case Kind::split_words:
      return part.invert ? b == SplitBehaviour::removed : b == SplitBehaviour::isolated;
    default:
      return false;
  }
}

/// Whether a part cuts nothing there, and does the same to a text and to its halves.
bool is_neutral(const PreTokenizerPart& part) {
  if (part.kind == Kind::punctuation) return true;
  return part.kind == Kind::split_text &&
         std::none_of(part.pattern.begin(), part.pattern.end(), [](char c) {
           return c == ' ' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
         });
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<PreTokenizerPart> parts)
    : parts_(in_simple_parts(std::move(parts))) {
  const auto first = std::find_if_not(parts_.begin(), parts_.end(), is_neutral);
  if (first == parts_.end() || !always_cuts(*first)) return;
  cut_places_ = first == parts_.begin() ? CutPlaces::printable : CutPlaces::alphanumeric;
}

void PreTokenizer::run(WordList& words, Scratch& scratch) const {
  for (const PreTokenizerPart& part : parts_) {
    WordList& out = scratch.other;
    out.clear();
    uint32_t begin = 0;
    for (const uint32_t end : words.ends) {
      scratch.word.clear();
      append_part(words.text, begin, end, scratch.word);
      begin = end;
      if (part.kind == Kind::metaspace) {
        run_metaspace(part, scratch.word, out);
      } else if (part.kind == Kind::byte_level) {
        run_byte_level(part, scratch.word, out);
      } else {
        scratch.matches.clear();
        find_matches(part, scratch.word.text, scratch.matches);
        behave(part.behaviour, part.invert, scratch.matches);
        append_matches(scratch.word, scratch.matches, out);
      }
    }
    std::swap(words, out);
  }
}

}  // namespace bert
