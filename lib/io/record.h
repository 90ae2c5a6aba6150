#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/export.h"

namespace bert {

/// One record of the input: the bytes up to the terminator (LF, or NUL with -0). Views into a chunk
/// that lives until the worker's run() returns.
struct BERT_API Record {
  std::string_view line = {};  ///< the whole line without the terminator, but with a CR before LF
  std::string_view text = {};  ///< the chosen field (the first of a pair), without that CR
  std::string_view text_pair = {};  ///< the second chosen field; "" if the tool reads one text
  static constexpr size_t kExtra = 10;
  std::array<std::string_view, kExtra> extra = {};  ///< further chosen fields, in order
  uint64_t number = 0;                              ///< 1-based over all inputs
  uint64_t number_in_file = 0;                      ///< 1-based within its file; 0: its header
  const std::string* file = nullptr;                ///< name for messages; "-" for stdin
  bool crlf = true;  ///< a CR at the end belongs to the terminator (false with NUL)

  /// `line` without the CR of a CRLF.
  std::string_view body() const {
    return crlf && line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
  }
  /// Field `index` (0-based) of the body. Throws Error(data) if the record has fewer.
  std::string_view field(size_t index) const;
  /// The same error, with this record for its place if it is of data and has none.
  Error placed(const Error& error) const;
  /// Throws Error(kind, "FILE: record N", what); N counts within the file.
  [[noreturn]] void fail(Error::Kind kind, std::string_view what) const;
};

}  // namespace bert
