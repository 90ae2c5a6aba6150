// Preloaded into bert-pull: counts its calls that change files, from 1 on.
//   HUB_COUNT=FILE      writes their number there at the end
//   HUB_KILL_AT=N       kills the process before the Nth
//   HUB_FAIL=CALL:ERRNO   makes each such call fail: write, fsync, rename, symlink ..
//   HUB_NO_FLOCK=1      flock() succeeds and does nothing, as on some file systems
//   HUB_DELAY=N         up to N microseconds pass before each, and before a directory
//                       is opened, so that processes that race meet in every order
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

long calls = 0;

long number_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::atol(value) : 0;
}

void delay() {
  if (const auto most = static_cast<unsigned>(number_of("HUB_DELAY"))) {
    usleep(std::random_device()() % most);
  }
}

/// Whether the call `name` fails, with errno set. May not return.
bool strikes(const char* name) {
  if (++calls == number_of("HUB_KILL_AT")) kill(getpid(), SIGKILL);
  delay();
  const char* wanted = std::getenv("HUB_FAIL");
  const size_t length = std::strlen(name);
  if (!wanted || std::strncmp(wanted, name, length) != 0 || wanted[length] != ':') return false;
  errno = std::atoi(wanted + length + 1);
  return true;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_file(int fd) {
  struct stat status;
  return fd > 2 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

void write_count() {
  const char* path = std::getenv("HUB_COUNT");
  if (FILE* file = path ? std::fopen(path, "w") : nullptr) {
    std::fprintf(file, "%ld\n", calls);
    std::fclose(file);
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

__attribute__((destructor)) static void at_exit() { write_count(); }  // where exit() ends it

EXPORT void _exit(int status) {
  write_count();
  next<void (*)(int)>("_exit")(status);
  __builtin_unreachable();
}

EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (flags & O_DIRECTORY) delay();
  if ((flags & O_CREAT) && strikes("open")) return -1;
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
EXPORT ssize_t write(int fd, const void* data, size_t size) {
  if (is_file(fd) && strikes("write")) return -1;
  return next<decltype(&write)>("write")(fd, data, size);
}
EXPORT ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  if (strikes("pwrite")) return -1;
  return next<decltype(&pwrite)>("pwrite")(fd, data, size, at);
}
EXPORT int fsync(int fd) { return strikes("fsync") ? -1 : next<decltype(&fsync)>("fsync")(fd); }
EXPORT int rename(const char* from, const char* to) {
  return strikes("rename") ? -1 : next<decltype(&rename)>("rename")(from, to);
}
EXPORT int symlink(const char* target, const char* path) {
  return strikes("symlink") ? -1 : next<decltype(&symlink)>("symlink")(target, path);
}
EXPORT int mkdir(const char* path, mode_t mode) {
  return strikes("mkdir") ? -1 : next<decltype(&mkdir)>("mkdir")(path, mode);
}
EXPORT int unlink(const char* path) {
  return strikes("unlink") ? -1 : next<decltype(&unlink)>("unlink")(path);
}
EXPORT int flock(int fd, int operation) {
  if (strikes("flock")) return -1;
  if (std::getenv("HUB_NO_FLOCK")) return 0;
  return next<decltype(&flock)>("flock")(fd, operation);
}
