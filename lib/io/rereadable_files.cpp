#include "io/rereadable_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/platform.h"

namespace bert {
namespace {

/// A file without a name.
int open_temporary() {
  const char* named = std::getenv("TMPDIR");
  const std::string folder = named != nullptr && *named != '\0' ? named : "/tmp";
  std::string path = folder + "/bertutils.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    throw Error(Error::Kind::cannot_create, folder,
                fmt::format("no temporary file: {}", std::generic_category().message(errno)));
  }
  unlink(path.c_str());
  return fd;
}

/// Copies what is left of `from` to a temporary file, which stands at its start.
int copy(int from, const std::string& name) {
  const int to = open_temporary();
  std::vector<char> buffer(size_t{1} << 16);
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error::from_errno(name, "read error", errno);
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = write(to, buffer.data() + done, static_cast<size_t>(n - done));
      if (written < 0 && errno != EINTR) {
        throw Error(Error::Kind::io, name,
                    "copy to a temporary file: " + std::generic_category().message(errno));
      }
      done += std::max<ssize_t>(written, 0);
    }
  }
  lseek(to, 0, SEEK_SET);
  return to;
}

}  // namespace

RereadableFiles::RereadableFiles(std::vector<std::string>& files) {
  if (files.empty()) files.emplace_back("-");
  struct stat status {};
  for (std::string& file : files) {
    if (file == "-") {
      if (input_begin_ >= 0) continue;
      if (fstat(STDIN_FILENO, &status) == 0 && !S_ISREG(status.st_mode) &&
          !S_ISDIR(status.st_mode)) {
        const int copied = copy(STDIN_FILENO, file);
        dup2(copied, STDIN_FILENO);
        close(copied);
      }
      input_begin_ = std::max<long>(lseek(STDIN_FILENO, 0, SEEK_CUR), 0);
    } else if (stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
               !S_ISDIR(status.st_mode)) {
      const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
      if (from < 0) continue;  // the reader says so
      copies_.push_back(copy(from, file));
      file = platform::path_of(copies_.back());
      close(from);
    }
  }
}

void RereadableFiles::rewind() const {
  if (input_begin_ >= 0) lseek(STDIN_FILENO, input_begin_, SEEK_SET);
  for (const int fd : copies_) lseek(fd, 0, SEEK_SET);
}

}  // namespace bert
