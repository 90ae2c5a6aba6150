#include "common/npy_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "common/run.h"
#include "io/npy.h"

namespace bert::tools {

NpyOutput::NpyOutput(size_t rows, size_t columns)
    : rows_(rows), columns_(columns), begin_(lseek(STDOUT_FILENO, 0, SEEK_CUR)) {
  if (begin_ < 0 && rows_ == 0) {
    throw Error(Error::Kind::usage, "--format npy", "writing to a pipe wants --rows N");
  }
  print(npy_header(rows_, columns_));
}

void NpyOutput::finish(uint64_t rows) const {
  if (rows == rows_) return;
  const std::string header = npy_header(rows, columns_);
  const auto size = static_cast<ssize_t>(header.size());
  if (rows_ != 0 || pwrite(STDOUT_FILENO, header.data(), header.size(), begin_) != size) {
    throw Error(Error::Kind::data, "--rows",
                fmt::format("found {} vectors, wants {}", rows, rows_));
  }
}

}  // namespace bert::tools
