#include "tokenizer/truncation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bert {
namespace {

[[noreturn]] void refuse(std::string_view what) { throw Error(Error::Kind::usage, "", what); }

}  // namespace

size_t content_limit(const EncodeOptions& options, size_t added) {
  if (options.max_length == 0) return kNoLimit;
  if (!options.add_special_tokens) return options.max_length;
  if (options.max_length < added) {
    refuse(fmt::format("a length of {} tokens has no room for the {} special tokens",
                       options.max_length, added));
  }
  return options.max_length - added;
}

void throw_no_second_text() { refuse("only_second cannot shorten a text that has no second one"); }

Kept truncate_pair(size_t first, size_t second, size_t limit, Truncation truncation) {
  if (first + second <= limit) return {first, second};
  if (limit == 0) return {0, 0};
  const size_t excess = first + second - limit;
  if (truncation != Truncation::longest_first) {
    const bool shorten_first = truncation == Truncation::only_first;
    const size_t target = shorten_first ? first : second;
    if (target <= excess) {
      refuse(fmt::format("the {} text is too short to lose {} tokens",
                         shorten_first ? "first" : "second", excess));
    }
    return shorten_first ? Kept{first - excess, second} : Kept{first, second - excess};
  }
  // The shorter one stays whole if it leaves the longer one at least as much; else both get half.
  size_t shorter = std::min(first, second);
  size_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return first > second ? Kept{longer, shorter} : Kept{shorter, longer};
}

size_t window_count(size_t tokens, size_t size, size_t stride) {
  if (tokens <= size) return 1;
  if (size == 0) refuse("a window has no room for text");
  if (stride >= size)
    refuse(fmt::format("a stride of {} leaves no step in windows of {} tokens", stride, size));
  return 1 + (tokens - size + (size - stride) - 1) / (size - stride);
}

}  // namespace bert
