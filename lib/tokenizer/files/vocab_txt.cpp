#include "tokenizer/files/vocab_txt.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/mapped_file.h"
#include "text/unicode.h"

namespace bert {
namespace {

[[noreturn]] void bad(const std::string& where, std::string_view what) {
  throw Error(Error::Kind::data, where, what);
}

/// The text of a line without its end and trailing white space, as the reference trims it.
std::string_view trimmed(std::string_view line) {
  while (!line.empty()) {
    if (line.back() > ' ' && line.back() < 0x7F) break;  // most lines
    size_t last = line.size() - 1;
    while (last > 0 && line.size() - last < 4 &&
           (static_cast<unsigned char>(line[last]) & 0xC0) == 0x80)
      --last;
    if (!(char_class(decode_utf8(line, last).code_point) & kCharWhite)) break;
    line.remove_suffix(line.size() - last);
  }
  return line;
}

/// Calls f(line, number) for each line, numbered from 0; a last one without LF counts, an empty one
/// does not.
template <typename Function>
void for_each_line(std::string_view text, Function f) {
  for (size_t begin = 0, number = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    f(trimmed(text.substr(begin, end - begin)), number);
    begin = end + 1;
  }
}

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

/// Whether `text` is the tokens to the byte, an LF behind each.
bool is_listing(std::string_view text, const Vocab& vocab) {
  size_t at = 0;
  for (size_t id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.text(static_cast<int32_t>(id));
    if (!text.substr(at).starts_with(token)) return false;
    at += token.size();
    if (at >= text.size() || text[at++] != '\n') return false;
  }
  return at == text.size();
}

}  // namespace

void read_vocab_txt(const std::string& path, Vocab& vocab, std::vector<std::string>& warnings) {
  const MappedFile file = MappedFile::open(path, kLargestVocabulary);
  refuse_other_kind(file.text(), path, "a vocabulary");
  const std::string_view text = without_bom(file.text());
  if (text.size() < file.size())
    warnings.push_back(path + ": the byte order mark is not part of a token");
  if (text.empty()) bad(path, "is empty");
  vocab.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 8,
                text.size() + 64);
  for_each_line(text, [&](std::string_view line, size_t number) {
    for (size_t i = 0; i < line.size();) {
      const Utf8Step step = utf8_step(line, i);
      if (!step.valid) bad(path, fmt::format("line {} is not UTF-8", number + 1));
      i += step.length;
    }
    vocab.add(line);
  });
  vocab.close();
  if (vocab.duplicates() > 0) {
    warnings.push_back(
        fmt::format("{}: {} tokens stand there twice, the first in line {}; the last counts", path,
                    vocab.duplicates(), vocab.first_duplicate() + 1));
  }
}

size_t first_difference(const std::string& path, const Vocab& vocab) {
  const MappedFile file = MappedFile::open(path, kLargestVocabulary);
  if (is_listing(file.text(), vocab)) return 0;
  size_t lines = 0;
  size_t first = 0;
  for_each_line(without_bom(file.text()), [&](std::string_view line, size_t number) {
    lines = number + 1;
    const bool same =
        number < vocab.size() && trimmed(vocab.text(static_cast<int32_t>(number))) == line;
    if (!same && first == 0) first = number + 1;
  });
  if (first == 0 && lines < vocab.size()) first = lines + 1;
  return first;
}

}  // namespace bert
