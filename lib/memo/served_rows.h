#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/export.h"
#include "memo/protocol.h"
#include "pipeline/intake.h"

namespace bert {

/// The side of the tool: makes records of memo's requests, and replies of rows. Put place() and
/// write() into a StreamOptions (place, write_job), which calls each in one thread at a time.
class BERT_API ServedRows {
 public:
  struct Shape {
    Greeting::Numbers numbers = Greeting::Numbers::none;
    /// A record may have several rows or none. They are told apart by their numbers, which all rows
    /// must have then.
    bool several = false;
    bool csv = false;     ///< rows are CSV
    bool header = false;  ///< records begin with a header
    bool names = false;   ///< the header has a row, the names of the columns
    size_t width = 0;     ///< above 0: a row has so many bytes and no terminator
  };

  /// `text_of` gives a message as the tool writes it, with the names of its options.
  ServedRows(int fd, const Shape& shape, std::function<std::string(std::string)> text_of)
      : fd_(fd), shape_(shape), text_of_(std::move(text_of)) {}

  void place(Record& record);
  /// Writes the replies of a chunk: if a record has failed, those of the records before it. Throws
  /// Error(io), and Error(internal) if the rows are not those of the records.
  void write(const Job& job);

 private:
  std::string_view take_row();
  std::string take_rows(uint64_t number);

  int fd_;
  Shape shape_;
  std::function<std::string(std::string)> text_of_;
  std::deque<std::string> files_;  ///< each stays where it is, since records point at it
  std::string_view rows_;          ///< rows of a chunk that are not taken yet
  char terminator_ = '\n';
};

}  // namespace bert
