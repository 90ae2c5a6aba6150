#pragma once

#include <string_view>

#include "base/error.h"
#include "io/rows.h"

namespace bert {

/// The rows of a check of a directory: level, subject, what was found. Each check stands alone as
/// far as it can: if one throws, that is its finding, and the others still run.
class Findings {
 public:
  /// `name` is first in each row, unless it is empty. Borrows both.
  Findings(Rows& rows, std::string_view name) : rows_(rows), name_(name) {}

  template <typename Look>
  void look(std::string_view subject, Look look) {
    try {
      look();
    } catch (const Error& error) {
      say("error", subject, error.what());
    }
  }
  void say(std::string_view level, std::string_view subject, std::string_view text) {
    errors_ += level == "error";
    if (!name_.empty()) rows_.field(printable(name_, 0));
    rows_.field(level).field(subject).field(text);
    rows_.end();
  }
  size_t errors() const { return errors_; }

 private:
  Rows& rows_;
  const std::string_view name_;
  size_t errors_ = 0;
};

}  // namespace bert
