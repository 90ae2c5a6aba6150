// Preloaded into a program, makes one of its calls fail, or kills it there; for torture.py:
//
//     FAIL_CALL=malloc|mmap|open|stat|thread|read|write|sync|name|any   FAIL_AT=N, from 1
//     FAIL_ON=1: and all after it   FAIL_KILL=1: SIGKILL instead   FAIL_PROGRAM=NAME: in that
//     program alone
//
// "name" is what gives or takes a name: rename, link, unlink, mkdir, rmdir; "any" is a call of any
// kind. Calls count from main() on. What was counted goes to the file FAIL_COUNT. Writes to
// standard error never fail.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

char wanted[16];
bool any = false, on = false, kills = false;
long at = 0;
std::atomic<bool> armed{false};
std::atomic<long> count{0};
thread_local int loading = 0;  // within dlopen
int (*real_main)(int, char**, char**) = nullptr;

/// True if this call is to fail, errno set.
bool fails(const char* call, int error) {
  if (!armed || loading > 0 || !(any || std::strcmp(call, wanted) == 0)) return false;
  const long n = ++count;
  if (!(on ? n >= at : n == at)) return false;
  if (kills) raise(SIGKILL);
  errno = error;
  return true;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int armed_main(int argc, char** argv, char** environment) {
  const char* call = getenv("FAIL_CALL");
  const char* program = getenv("FAIL_PROGRAM");
  if (call) std::strncpy(wanted, call, sizeof wanted - 1);
  if (const char* n = getenv("FAIL_AT")) at = std::atol(n);
  any = call && std::strcmp(call, "any") == 0;
  on = getenv("FAIL_ON") != nullptr;
  kills = getenv("FAIL_KILL") != nullptr;
  armed = !program || std::strcmp(program, program_invocation_short_name) == 0;
  return real_main(argc, argv, environment);
}

void write_count() {
  if (!armed.exchange(false)) return;
  const char* path = getenv("FAIL_COUNT");
  const int fd =
      path ? next<int (*)(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)
           : -1;
  char text[24];
  const int size = std::snprintf(text, sizeof text, "%ld\n", count.load());
  if (fd >= 0) [[maybe_unused]]
    const auto n = ::write(fd, text, static_cast<size_t>(size));
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  const auto real = next<decltype(&__libc_start_main)>("__libc_start_main");
  return real(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}

void _exit(int status) {
  write_count();
  next<void (*)(int)>("_exit")(status);
  __builtin_unreachable();
}

void* malloc(size_t size) { return fails("malloc", ENOMEM) ? nullptr : __libc_malloc(size); }
void* calloc(size_t n, size_t size) {
  return fails("malloc", ENOMEM) ? nullptr : __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  return fails("malloc", ENOMEM) ? nullptr : __libc_realloc(p, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails("malloc", ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) {
  if (fails("malloc", ENOMEM)) return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  if (fails("thread", EAGAIN)) return EAGAIN;
  return next<decltype(&pthread_create)>("pthread_create")(thread, attributes, start, argument);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails("open", EMFILE)) return -1;
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  if (fails("open", EMFILE)) return nullptr;
  return next<decltype(&fopen)>("fopen")(path, mode);
}
ssize_t write(int fd, const void* data, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return fd != 2 && fails("write", ENOSPC) ? -1 : real(fd, data, size);
}
ssize_t writev(int fd, const iovec* parts, int n) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  return fd != 2 && fails("write", ENOSPC) ? -1 : real(fd, parts, n);
}

// A call that gives -1 when it fails, and is else the C library's.
#define CALL(kind, error, result, name, parameters, arguments)            \
  result name parameters {                                                \
    static const auto real = next<result(*) parameters>(#name);           \
    return fails(kind, error) ? static_cast<result>(-1) : real arguments; \
  }
CALL("stat", EIO, int, fstat, (int fd, struct stat* s), (fd, s))
CALL("stat", EIO, int, stat, (const char* path, struct stat* s), (path, s))
CALL("open", EMFILE, int, mkostemp, (char* name, int flags), (name, flags))
CALL("stat", EIO, int, lstat, (const char* path, struct stat* s), (path, s))
CALL("read", EIO, ssize_t, read, (int fd, void* data, size_t size), (fd, data, size))
CALL("read", EIO, ssize_t, pread, (int fd, void* data, size_t size, off_t from),
     (fd, data, size, from))
CALL("write", ENOSPC, ssize_t, pwrite, (int fd, const void* data, size_t size, off_t to),
     (fd, data, size, to))
CALL("write", ENOSPC, int, ftruncate, (int fd, off_t size), (fd, size))
CALL("write", ENOSPC, int, fallocate, (int fd, int mode, off_t from, off_t size),
     (fd, mode, from, size))
CALL("sync", EIO, int, fsync, (int fd), (fd))
CALL("sync", EIO, int, fdatasync, (int fd), (fd))
CALL("name", EACCES, int, rename, (const char* from, const char* to), (from, to))
CALL("name", EACCES, int, renameat2,
     (int a, const char* from, int b, const char* to, unsigned flags), (a, from, b, to, flags))
CALL("name", EACCES, int, link, (const char* from, const char* to), (from, to))
CALL("name", EACCES, int, linkat, (int a, const char* from, int b, const char* to, int flags),
     (a, from, b, to, flags))
CALL("name", EACCES, int, unlink, (const char* path), (path))
CALL("name", EACCES, int, unlinkat, (int at, const char* path, int flags), (at, path, flags))
CALL("name", EACCES, int, mkdir, (const char* path, mode_t mode), (path, mode))
CALL("name", EACCES, int, rmdir, (const char* path), (path))

// What other libraries do while they are loaded is not ours: without memory libgfortran ends the
// process.
void* dlopen(const char* path, int flags) {
  static const auto real = next<decltype(&dlopen)>("dlopen");
  ++loading;
  void* const library = real(path, flags);
  --loading;
  return library;
}

void* mmap(void* where, size_t size, int protection, int flags, int fd, off_t offset) {
  static const auto real = next<decltype(&mmap)>("mmap");
  return fails("mmap", ENOMEM) ? MAP_FAILED : real(where, size, protection, flags, fd, offset);
}
}
