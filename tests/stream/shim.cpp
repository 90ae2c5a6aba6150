// Loaded before the C library (LD_PRELOAD): makes reads and writes behave as a bad day would.
//   SHIM=short   reads and writes move one byte        SHIM=eintr   every second one is interrupted
//   SHIM=eagain  every second one would block          SHIM=eio-read:N, eio-write:N   the Nth on 0
//   or 1 fails SHIM=close   closing descriptor 1 fails with ENOSPC
//   SHIM=slow-errors   a write to descriptor 2 takes long, so that other threads write, too
// SHIM_OPENS=FILE   appends the path of each file that is opened, a line each
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

const char* mode() {
  static const char* const value = std::getenv("SHIM");
  return value ? value : "";
}
bool is(const char* name) { return std::strcmp(mode(), name) == 0; }
/// N of "NAME:N"
int count_of(const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(mode(), name, length) == 0 && mode()[length] == ':'
             ? std::atoi(mode() + length + 1)
             : 0;
}

/// One call's fate: true if it fails with errno set.
bool strikes(int fd, int* calls, const char* eio) {
  const int call = __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
  if (is("eintr") && call % 2 == 1) return errno = EINTR, true;
  if (is("eagain") && fd <= 1 && call % 2 == 1) return errno = EAGAIN, true;
  if (fd <= 1 && count_of(eio) == call) return errno = EIO, true;
  return false;
}

int reads = 0, writes = 0;

void note_open(const char* path) {
  const char* const log = std::getenv("SHIM_OPENS");
  char line[4096];
  const size_t length = std::strlen(path);
  if (!log || length >= sizeof line) return;
  std::memcpy(line, path, length);
  line[length] = '\n';
  const auto fd = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  syscall(SYS_write, fd, line, length + 1);
  syscall(SYS_close, fd);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* data, size_t size) {
  if (fd <= 1 || is("short")) {
    if (strikes(fd, &reads, "eio-read")) return -1;
    if (is("short") && size > 1) size = 1;
  }
  return syscall(SYS_read, fd, data, size);
}

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* data,
                                                                size_t size) {
  if (fd <= 1) {
    if (strikes(fd, &writes, "eio-write")) return -1;
    if (is("short") && size > 1) size = 1;
  }
  const ssize_t n = syscall(SYS_write, fd, data, size);
  if (fd == 2 && is("slow-errors")) usleep(300000);
  return n;
}

extern "C" __attribute__((visibility("default"))) ssize_t writev(int fd, const iovec* parts,
                                                                 int count) {
  const ssize_t n = syscall(SYS_writev, fd, parts, count);
  if (fd == 2 && is("slow-errors")) usleep(300000);
  return n;
}

extern "C" __attribute__((visibility("default"))) int close(int fd) {
  if (fd == 1 && is("close")) return errno = ENOSPC, -1;
  return static_cast<int>(syscall(SYS_close, fd));
}

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  note_open(path);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
