#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bert::tools {

/// The header of an npy file on standard output. It has the number of rows: given by the user, or
/// patched at the end if the output is a file.
class NpyOutput {
 public:
  /// Writes the header of numbers of a type, as NumPy spells it; `rows` 0 means unknown. Throws
  /// Error(usage) if it is unknown and the output is a pipe, or a file that is appended to.
  NpyOutput(size_t rows, size_t columns, const std::string& type);
  /// After an error, patches the header with the number of rows written before it.
  ~NpyOutput();
  NpyOutput(const NpyOutput&) = delete;
  NpyOutput& operator=(const NpyOutput&) = delete;
  /// Patches the number of rows that `bytes` of them are. Throws Error(data) if the user gave
  /// another number.
  void finish(uint64_t bytes);
  void finish_rows(uint64_t rows);

  /// Within memo this object writes nothing. The tool sends these words, of which memo makes an
  /// object of its own and clears them; empty and nullptr if there is no object.
  static const std::string& within_memo();
  static std::unique_ptr<NpyOutput> of_memo(std::string& words);

 private:
  bool patch(uint64_t rows) const;

  std::string header(uint64_t rows) const;
  size_t row_bytes() const;

  size_t rows_, columns_;
  std::string type_;
  bool finished_ = false;
  off_t begin_;
};

}  // namespace bert::tools
