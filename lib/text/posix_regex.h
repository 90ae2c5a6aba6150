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

/// A POSIX extended regular expression over UTF-8, with GNU's \w \W \s \S \b \B \< \>. Matches are
/// those of regexec(3) in the locale C.UTF-8: the leftmost, and of these the longest.
///
/// All ways to match are followed at once (Thompson 1968), so that a search takes time in
/// proportion to the text times the expression, where regexec(3) takes its square and more. Back
/// references, which cannot be searched so, are refused. Bytes that are no UTF-8 match nothing.
///
/// Thread rule: constant after it was made; a Scratch belongs to one thread.
class BERT_API Regex {
 public:
  /// What a search needs; kept between searches. It counts their steps.
  struct Scratch {
    struct Thread {
      uint32_t at;   ///< instruction
      size_t begin;  ///< byte where its match begins
    };
    std::vector<Thread> now, next;
    std::vector<uint64_t> seen;      ///< [instructions]: the closure that last reached it
    std::vector<uint32_t> to_visit;  ///< of a closure
    uint64_t closure = 0;
    uint64_t steps = 0;  ///< instructions run; the caller may set it back
  };

  /// Throws Error(usage) telling what is wrong with the expression.
  explicit Regex(std::string_view expression);
  Regex(Regex&&) noexcept;
  ~Regex();

  /// The first match that begins at byte `from` of `text` or after it. What stands before `from`
  /// counts for ^, \b and the like. Gives up after `most_steps` in scratch.steps: Error(data).
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from,
                                                Scratch& scratch,
                                                uint64_t most_steps = UINT64_MAX) const;

 private:
  struct Program;
  std::unique_ptr<const Program> program_;
};

}  // namespace bert
