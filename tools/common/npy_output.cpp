#include "common/npy_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "common/run.h"
#include "io/npy.h"

namespace bert::tools {

namespace {

/// The position of standard output in its file; -1 if bytes already written cannot be changed
/// later.
off_t place() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags >= 0 && (flags & O_APPEND) ? -1 : lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

constexpr std::string_view kForMemo = "npy ";
std::string for_memo;  // see NpyOutput::within_memo

}  // namespace

const std::string& NpyOutput::within_memo() { return for_memo; }

std::unique_ptr<NpyOutput> NpyOutput::of_memo(std::string& words) {
  if (!words.starts_with(kForMemo)) return nullptr;
  const std::vector<std::string_view> parts = split(words, ' ');  // npy ROWS COLUMNS TYPE
  const auto rows = to_number<size_t>(parts.at(1)), columns = to_number<size_t>(parts.at(2));
  const std::string type(parts.at(3));
  words.clear();
  return std::make_unique<NpyOutput>(rows.value(), columns.value(), type);
}

NpyOutput::NpyOutput(size_t rows, size_t columns, const std::string& type)
    : rows_(rows), columns_(columns), type_(type), begin_(place()) {
  if (tools::within_memo()) {
    for_memo = fmt::format("{}{} {} {}", kForMemo, rows, columns, type);
    finished_ = true;
    return;
  }
  if (begin_ < 0 && rows_ == 0) {
    throw Error(Error::Kind::usage, "--format",
                "wants --rows N: the number of rows cannot be written later into a pipe or an "
                "appended file");
  }
  print(header(rows_));
}

NpyOutput::~NpyOutput() {
  if (finished_ || rows_ != 0) return;
  const auto bytes = lseek(STDOUT_FILENO, 0, SEEK_CUR) - begin_;
  const auto begin = static_cast<off_t>(header(0).size());
  if (bytes > begin) {
    patch(static_cast<uint64_t>(bytes - begin) / row_bytes());
  }
}

void NpyOutput::finish(uint64_t bytes) {
  if (tools::within_memo()) return;
  finish_rows(bytes / row_bytes());
}

void NpyOutput::finish_rows(uint64_t rows) {
  finished_ = true;
  if (rows == rows_ || (rows_ == 0 && patch(rows))) return;
  throw Error(Error::Kind::data, "--rows", fmt::format("found {} vectors, wants {}", rows, rows_));
}

std::string NpyOutput::header(uint64_t rows) const { return npy_header(rows, columns_, type_); }

/// The type ends with the bytes of a number: <f4.
size_t NpyOutput::row_bytes() const { return columns_ * static_cast<size_t>(type_.back() - '0'); }

bool NpyOutput::patch(uint64_t rows) const {
  const std::string bytes = header(rows);
  return pwrite(STDOUT_FILENO, bytes.data(), bytes.size(), begin_) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace bert::tools
