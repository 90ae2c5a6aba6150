#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace bert::tools {

/// The header of an npy file on standard output. It says how many rows follow: known beforehand, or
/// patched at the end when the output is a file.
class NpyOutput {
 public:
  /// Writes the header. `rows` 0: not known. Throws Error(usage) if then the output is a pipe, or a
  /// file that is appended to.
  NpyOutput(size_t rows, size_t columns);
  /// After an error: the rows before it are there, and the header should say so.
  ~NpyOutput();
  NpyOutput(const NpyOutput&) = delete;
  NpyOutput& operator=(const NpyOutput&) = delete;
  /// Throws Error(data) if `rows` is not what the header says and that cannot be mended.
  void finish(uint64_t rows);

 private:
  bool patch(uint64_t rows) const;

  size_t rows_, columns_;
  bool finished_ = false;
  off_t begin_;
};

}  // namespace bert::tools
