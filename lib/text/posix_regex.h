#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/export.h"

namespace bert {

/// A POSIX extended regular expression over UTF-8, with GNU's \w \W \s \S \b \B \< \>. It matches
/// as regexec(3) does in the locale C.UTF-8: the leftmost match, and the longest of these.
///
/// The search follows all possible matches at once (Thompson 1968). Its time is proportional to
/// text times expression, while that of regexec(3) can grow with the square of the text and more.
/// Back references do not allow this and are refused. Bytes that are not UTF-8 match nothing.
///
/// Thread rule: const and shared by threads; a Scratch belongs to one thread.
class BERT_API Regex {
 public:
  /// The memory of a search, kept for the next search, and the count of steps.
  struct Scratch {
    struct Thread {
      uint32_t at;   ///< instruction
      size_t begin;  ///< byte where its match begins
    };
    std::vector<Thread> now, next;
    std::vector<uint64_t> seen;      ///< [instructions]: the closure that last reached it
    std::vector<uint32_t> to_visit;  ///< instructions that the closure has still to visit
    uint64_t closure = 0;
    uint64_t steps = 0;  ///< instructions run so far; the caller may reset it
  };

  /// Throws Error(usage) that says what is wrong with the expression.
  explicit Regex(std::string_view expression);
  Regex(Regex&&) noexcept;
  ~Regex();

  /// The first match that begins at byte `from` of `text` or later. The text before `from` still
  /// counts for ^, \b and the like. Throws Error(data) when scratch.steps exceeds `most_steps`.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from,
                                                Scratch& scratch,
                                                uint64_t most_steps = UINT64_MAX) const;

 private:
  struct Program;
  std::unique_ptr<const Program> program_;
};

}  // namespace bert
