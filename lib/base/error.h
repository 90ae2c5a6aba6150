#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The one exception type of the library. `what()` reads "WHERE: WHAT"; the tools print it after
/// their name, once, and exit with the status that belongs to the kind (sysexits.h).
///
///   where   the file with the fault, and ": record N"; may be empty
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
    unavailable = 69,    ///< a server cannot be reached
    internal = 70,       ///< a bug in bertutils
    no_memory = 71,      ///< memory or threads ran out
    cannot_create = 73,  ///< an output file cannot be made
    io = 74,             ///< reading or writing failed
    try_again = 75,      ///< another process holds a lock, or a server is busy
    protocol = 76,       ///< a server answered what it must not answer
    permission = 77,     ///< the file may not be read
    unsupported = 78,    ///< this kind of model is not supported
  };

  Error(Kind kind, std::string_view where, std::string_view what);

  /// Of a value in an options struct: `field` is the member's name, as in "learning_rate". Messages
  /// write the names of fields in backquotes: "`independent`: wants `candidates`"; the tools put
  /// the option that sets a field in its place.
  static Error of_field(std::string_view field, std::string_view what, Kind kind = Kind::usage);

  /// The error for an `errno`, after opening or reading `where` failed. Its text ends with
  /// strerror. An empty `where` is told as ''.
  static Error from_errno(std::string_view where, std::string_view action, int error_number);

  Kind kind() const { return kind_; }
  const std::string& field() const { return field_; }  ///< empty: of no field
  /// Of what a file or an option holds; else the machine failed, and the same file may be sound.
  bool of_content() const {
    return kind_ == Kind::usage || kind_ == Kind::data || kind_ == Kind::no_input ||
           kind_ == Kind::unsupported;
  }
  bool has_place() const { return has_place_; }  ///< `where` is not empty
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Kind kind_;
  std::string message_;
  std::string field_;
  bool has_place_;
};

/// `text` made safe for one line of a terminal: control characters (C0, C1) and invalid UTF-8
/// become \xNN. Text longer than `limit` characters is cut and ends in "..."; limit 0 never cuts.
BERT_API std::string printable(std::string_view text, size_t limit = 80);
/// The same for a text of several lines and fields: line feeds and tabs stay, nothing is cut.
BERT_API std::string printable_lines(std::string_view text);

}  // namespace bert
