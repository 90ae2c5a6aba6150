// A regular expression, and behind a line feed the text that it searches. Matches follow each other
// within the text and begin and end between characters.
#include "text/posix_regex.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace {

constexpr uint64_t kMostSteps = 1u << 20;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Whether a character or an invalid part begins at text[i], or the text ends there.
bool is_between(std::string_view text, size_t i) {
  size_t at = 0;
  while (at < i) at += bert::utf8_step(text, at).length;
  return at == i;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Kind = bert::Error::Kind;
  if (size > 600) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(std::min(end + 1, size));
  try {
    const bert::Regex regex(input.substr(0, end));
    bert::Regex::Scratch scratch;
    for (size_t from = 0; from <= text.size();) {
      const auto match = regex.find(text, from, scratch, kMostSteps);
      if (!match) break;
      require(from <= match->first && match->first <= match->second);
      require(match->second <= text.size());
      require(is_between(text, match->first) && is_between(text, match->second));
      from = match->second;
      if (match->first < match->second) continue;
      if (from == text.size()) break;
      from += bert::utf8_step(text, from).length;
    }
  } catch (const bert::Error& error) {
    require(error.kind() == Kind::usage || error.kind() == Kind::data);
  }
  return 0;
}
