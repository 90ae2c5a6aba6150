#include "tokenizer/files/merges_txt.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "io/file_kind.h"
#include "io/mapped_file.h"
#include "tokenizer/files/vocab_txt.h"

namespace bert {

std::vector<std::pair<std::string, std::string>> read_merges_txt(const std::string& path) {
  const MappedFile file = MappedFile::open(path, kLargestVocabulary);
  const std::string_view text = file.text();
  refuse_other_kind(text, path, "a list of merges");
  std::vector<std::pair<std::string, std::string>> merges;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      throw Error(
          Error::Kind::data, path,
          fmt::format("line {} is no merge, wants two tokens with a blank between them", number));
    }
    merges.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return merges;
}

}  // namespace bert
