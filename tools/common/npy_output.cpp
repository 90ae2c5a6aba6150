#include "common/npy_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
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

}  // namespace

NpyOutput::NpyOutput(size_t rows, size_t columns)
    : rows_(rows), columns_(columns), begin_(place()) {
  if (within_memo()) {
    throw Error(Error::Kind::usage, "--format npy", "begins with a header, wants f32 within memo");
  }
  if (begin_ < 0 && rows_ == 0) {
    throw Error(Error::Kind::usage, "--format npy",
                "wants --rows N: the number of rows cannot be written later into a pipe or an "
                "appended file");
  }
  print(npy_header(rows_, columns_));
}

NpyOutput::~NpyOutput() {
  if (finished_ || rows_ != 0) return;
  const auto bytes = lseek(STDOUT_FILENO, 0, SEEK_CUR) - begin_;
  const auto header = static_cast<off_t>(npy_header(0, columns_).size());
  if (bytes > header) {
    patch(static_cast<uint64_t>(bytes - header) / (columns_ * sizeof(float)));
  }
}

void NpyOutput::finish(uint64_t rows) {
  finished_ = true;
  if (rows == rows_ || (rows_ == 0 && patch(rows))) return;
  throw Error(Error::Kind::data, "--rows", fmt::format("found {} vectors, wants {}", rows, rows_));
}

bool NpyOutput::patch(uint64_t rows) const {
  const std::string header = npy_header(rows, columns_);
  return pwrite(STDOUT_FILENO, header.data(), header.size(), begin_) ==
         static_cast<ssize_t>(header.size());
}

}  // namespace bert::tools
