#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/platform.h"

namespace bert::platform {
namespace {

/// The first argument of main. macOS, the BSDs and glibc give the arguments to constructors, too.
const char* first_argument = "";

__attribute__((constructor)) void keep_first_argument(int argc, char** argv) {
  if (argc > 0 && argv[0]) first_argument = argv[0];
}

/// Keeps descriptors out of programs that are started. Between the call that made them and this
/// one, another thread may start a program; then its copy of the descriptor stays open.
bool close_on_exec(int (&ends)[2]) {
  return fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

bool write_all(int fd, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, static_cast<size_t>(size));
    if (n < 0 && errno != EINTR) return false;
    bytes += std::max<ssize_t>(n, 0);
    size -= std::max<ssize_t>(n, 0);
  }
  return true;
}

ssize_t read_some(int fd, char* to, size_t size) {
  ssize_t n = -1;
  do {
    n = read(fd, to, size);
  } while (n < 0 && errno == EINTR);
  return n;
}

/// Copies all of `from` to `to`, and closes both.
void pump(int from, int to) {
  char bytes[1 << 14];
  ssize_t n = 0;
  while ((n = read_some(from, bytes, sizeof bytes)) > 0 && write_all(to, bytes, n)) {
  }
  close(from);
  close(to);
}

#if defined(__APPLE__)
bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
#endif

}  // namespace

const char* program_name() {
  const char* slash = std::strrchr(first_argument, '/');
  return slash ? slash + 1 : first_argument;
}

std::string program_path() {
#if defined(__APPLE__)
  char path[4096];
  uint32_t size = sizeof path;
  if (_NSGetExecutablePath(path, &size) == 0) return path;
#endif
  const std::string name = first_argument;
  if (name.empty() || name.find('/') != name.npos) return name;
  const char* path_list = std::getenv("PATH");
  const std::string list = path_list ? path_list : "";
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    std::string file = list.substr(begin, end - begin);
    file = (file.empty() ? "." : file) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

void end_with_parent() {
  std::thread([parent = getppid()] {
    while (getppid() == parent) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(getpid(), SIGTERM);
  }).detach();
}

bool may_use_tiles() { return false; }

ArmFeatures arm_features() {
  ArmFeatures arm;
#if defined(__APPLE__) && defined(__aarch64__)
  arm.dotprod = has_feature("hw.optional.arm.FEAT_DotProd");
  arm.i8mm = has_feature("hw.optional.arm.FEAT_I8MM");
  arm.bf16 = has_feature("hw.optional.arm.FEAT_BF16");
#endif
  return arm;
}

int allowed_cpus() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

void part_from_here(std::span<std::thread>) {}

void prefer_huge_pages(void*, size_t) {}

/// The place has no bytes for a moment: no other thread may read it meanwhile.
bool move_mapping(void* copy, void* place, size_t bytes) {
  constexpr int kHow = MAP_PRIVATE | MAP_ANON | MAP_FIXED;
  if (mmap(place, bytes, PROT_READ | PROT_WRITE, kHow, -1, 0) == MAP_FAILED) return false;
  std::memcpy(place, copy, bytes);
  mprotect(place, bytes, PROT_READ);
  munmap(copy, bytes);
  return true;
}

size_t resident_bytes() {
#if defined(__APPLE__)
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info),
                &count) == KERN_SUCCESS) {
    return info.resident_size;
  }
#endif
  return peak_bytes();
}

size_t peak_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  constexpr size_t kUnit = 1;
#else
  constexpr size_t kUnit = 1024;
#endif
  return static_cast<size_t>(usage.ru_maxrss) * kUnit;
}

int open_unnamed(const std::string&) { return -1; }

bool give_name(int, const std::string&) {
  errno = ENOTSUP;
  return false;
}

std::string path_of(int fd) { return "/dev/fd/" + std::to_string(fd); }

bool exchange_names([[maybe_unused]] const std::string& a, [[maybe_unused]] const std::string& b) {
#if defined(__APPLE__)
  return renamex_np(a.c_str(), b.c_str(), RENAME_SWAP) == 0;
#else
  errno = access(b.c_str(), F_OK) == 0 ? ENOTSUP : ENOENT;
  return false;
#endif
}

timespec modification_time(const struct stat& status) {
#if defined(__APPLE__)
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

bool open_pipe(int (&ends)[2]) { return pipe(ends) == 0 && close_on_exec(ends); }

bool open_socket_pair(int (&ends)[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && close_on_exec(ends);
}

ssize_t send_quietly(int socket, std::string_view bytes) {
#if defined(__APPLE__)
  constexpr int kOn = 1, kFlags = 0;
  setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &kOn, sizeof kOn);
#else
  constexpr int kFlags = MSG_NOSIGNAL;
#endif
  return send(socket, bytes.data(), bytes.size(), kFlags);
}

/// Reads the bytes, and puts a new pipe in the place of the old one, which a thread fills with
/// these bytes and all that follow.
ssize_t peek_pipe(int fd, char* to, size_t size) {
  const ssize_t n = read_some(fd, to, size);
  if (n <= 0) return n;
  int ends[2];
  const int old = dup(fd);
  if (old < 0 || !open_pipe(ends)) return -1;
  fcntl(old, F_SETFD, FD_CLOEXEC);
  if (!write_all(ends[1], to, n) || dup2(ends[0], fd) < 0) return -1;
  close(ends[0]);
  std::thread(pump, old, ends[1]).detach();
  return n;
}

locale_t utf8_letters() {
  const locale_t posix = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return posix ? posix : newlocale(LC_CTYPE_MASK, "UTF-8", nullptr);  // its name on macOS
}

#if defined(__APPLE__)
const char* const kBlasLibraries[] = {
    "libopenblas.dylib", "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
    "/usr/local/opt/openblas/lib/libopenblas.dylib",
    "/System/Library/Frameworks/Accelerate.framework/Accelerate", nullptr};
const char* const kBlasPackage = "brew install openblas";
#else
const char* const kBlasLibraries[] = {"libopenblas.so.0", "libopenblas.so", nullptr};
const char* const kBlasPackage = "package libopenblas0";
#endif

}  // namespace bert::platform
