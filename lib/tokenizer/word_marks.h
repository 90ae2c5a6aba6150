#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/files/tokenizer_files.h"

namespace bert {

/// How a vocabulary spells the beginnings of words: a mark before a piece that goes on with one
/// ("##ing"), or before one that begins one behind a blank.
///
/// Thread rule: const after construction.
class WordMarks {
 public:
  explicit WordMarks(const TokenizerFiles& files);

  bool marks_beginnings() const { return beginnings_; }
  bool marks_continuations() const { return !beginnings_ && !mark_.empty(); }
  bool continues_word(std::string_view token) const {
    return token.starts_with(mark_) != beginnings_ && !(mark_.empty() && !beginnings_);
  }
  /// The token `id`, spelt `token`, without its mark, byte-level ones as bytes.
  std::string_view text(int32_t id, std::string_view token) const;

 private:
  std::string mark_;
  bool beginnings_ = false;
  // Byte-level vocabularies:
  std::string bytes_;
  std::vector<uint32_t> ends_;  ///< [vocabulary] in bytes_
};

}  // namespace bert
