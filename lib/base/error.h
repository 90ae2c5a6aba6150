#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The one exception type of the library. `what()` reads "WHERE: WHAT"; the tools print it after
/// their name, once, and exit with the status that belongs to the kind (sysexits.h).
///
///   where   the file (and ": record N") the fault was found in; may be empty
///   what    what is wrong, what was found, what was wanted
///
/// Bytes that could disturb a terminal are escaped here, so callers may quote hostile values as
/// they are.
class BERT_API Error : public std::exception {
 public:
  /// The value of each kind is the exit status of a tool that ends with it.
  enum class Kind {
    usage = 64,          ///< the command line is wrong
    data = 65,           ///< the content of a file or record is wrong
    no_input = 66,       ///< a file is missing or is not a regular file
    internal = 70,       ///< a fault of ours
    no_memory = 71,      ///< memory or threads ran out
    cannot_create = 73,  ///< an output file cannot be made
    io = 74,             ///< reading or writing failed
    try_again = 75,      ///< a lock is held
    permission = 77,     ///< the file may not be read
    unsupported = 78,    ///< the model is of a kind that is not supported
  };

  Error(Kind kind, std::string_view where, std::string_view what);

  /// The kind that fits `errno` after a failed open or read of `where`, with strerror as text.
  static Error from_errno(std::string_view where, std::string_view action, int error_number);

  Kind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Kind kind_;
  std::string message_;
};

/// `text` on one line for a terminal: control bytes, C1 and invalid UTF-8 as \xNN, cut after 80
/// characters for values (limit 0: never cut).
BERT_API std::string printable(std::string_view text, size_t limit = 80);

}  // namespace bert
