// Preloaded into a tool, makes one of its calls fail, for bad_models.py:
//
//     FAIL_CALL=malloc|mmap|open|fstat|thread   FAIL_AT=N, from 1   FAIL_ON=1: and all after it
//
// Calls count from main() on. What was counted goes to the file FAIL_COUNT.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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
long fail_at = 0;
bool fail_on = false;
std::atomic<bool> armed{false};
std::atomic<long> count{0};
int (*real_main)(int, char**, char**) = nullptr;

bool fails(const char* call) {
  if (!armed || std::strcmp(call, wanted) != 0) return false;
  const long n = ++count;
  return fail_on ? n >= fail_at : n == fail_at;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int armed_main(int argc, char** argv, char** environment) {
  if (const char* call = getenv("FAIL_CALL")) std::strncpy(wanted, call, sizeof wanted - 1);
  if (const char* at = getenv("FAIL_AT")) fail_at = std::atol(at);
  fail_on = getenv("FAIL_ON") != nullptr;
  armed = true;
  return real_main(argc, argv, environment);
}

void write_count() {
  armed = false;
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

void* malloc(size_t size) {
  if (fails("malloc")) return errno = ENOMEM, nullptr;
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  if (fails("malloc")) return errno = ENOMEM, nullptr;
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  if (fails("malloc")) return errno = ENOMEM, nullptr;
  return __libc_realloc(p, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (fails("malloc")) return errno = ENOMEM, nullptr;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) {
  if (fails("malloc")) return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fails("mmap")) return errno = ENOMEM, MAP_FAILED;
  return next<decltype(&mmap)>("mmap")(at, size, protection, flags, fd, offset);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails("open")) return errno = EMFILE, -1;
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
int fstat(int fd, struct stat* status) {
  if (fails("fstat")) return errno = EIO, -1;
  return next<int (*)(int, struct stat*)>("fstat")(fd, status);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  if (fails("thread")) return EAGAIN;
  return next<decltype(&pthread_create)>("pthread_create")(thread, attributes, start, argument);
}
}
