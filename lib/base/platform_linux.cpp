#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#endif
#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "base/platform.h"

namespace bert::platform {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// The CPU quota of the cgroup (version 2, else 1), rounded up, at most `limit`; `limit` without a
/// quota.
int cgroup_cpus(int limit) {
  double quota = 0;
  double period = 0;
  char text[64] = "";
  if (std::unique_ptr<std::FILE, CloseFile> file{std::fopen("/sys/fs/cgroup/cpu.max", "re")}) {
    if (std::fscanf(file.get(), "%63s %lf", text, &period) == 2) quota = std::strtod(text, nullptr);
  } else {
    const char* kQuota = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
    const char* kPeriod = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";
    std::unique_ptr<std::FILE, CloseFile> quota_file{std::fopen(kQuota, "re")};
    std::unique_ptr<std::FILE, CloseFile> period_file{std::fopen(kPeriod, "re")};
    if (!quota_file || !period_file || std::fscanf(quota_file.get(), "%lf", &quota) != 1 ||
        std::fscanf(period_file.get(), "%lf", &period) != 1) {
      return limit;
    }
  }
  if (quota <= 0 || period <= 0) return limit;  // "max" or -1 means no quota
  return static_cast<int>(std::min<double>(limit, (quota + period - 1) / period));
}

}  // namespace

const char* program_name() { return program_invocation_short_name; }

std::string program_path() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical("/proc/self/exe", error);
  if (!error) return file;
  return reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // no /proc here
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGTERM); }

bool may_use_tiles() {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // <asm/prctl.h> of Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

ArmFeatures arm_features() {
  ArmFeatures arm;
#if defined(__aarch64__)
  arm.dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  arm.i8mm = (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  arm.bf16 = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#endif
  return arm;
}

int allowed_cpus() {
  // The call fails while the mask is too small: a machine may have more than 1024 CPUs.
  for (int size = 1024; size <= (1 << 20); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(1, cgroup_cpus(std::max(1, count)));
  }
  return 1;
}

void part_from_here(std::span<std::thread> threads) {
  const int here = sched_getcpu();
  cpu_set_t allowed;
  if (here < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<size_t>(here), &others);
  if (static_cast<size_t>(CPU_COUNT(&others)) < threads.size()) return;
  for (std::thread& thread : threads) {
    const pthread_t handle = thread.native_handle();
    if (pthread_setaffinity_np(handle, sizeof others, &others) == 0)
      pthread_setaffinity_np(handle, sizeof allowed, &allowed);
  }
}

void prefer_huge_pages(void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory), first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes) / page * page;
  if (first < last)
    madvise(static_cast<char*>(memory) + (first - begin), last - first, MADV_HUGEPAGE);
}

bool move_mapping(void* copy, void* place, size_t bytes) {
  mprotect(copy, bytes, PROT_READ);
  return mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t peak_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int open_unnamed(const std::string& directory) {
  const int fd = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0 || access(path_of(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

bool give_name(int fd, const std::string& path) {
  return linkat(AT_FDCWD, path_of(fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool exchange_names(const std::string& a, const std::string& b) {
  return renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

timespec modification_time(const struct stat& status) { return status.st_mtim; }

bool open_pipe(int (&ends)[2]) { return pipe2(ends, O_CLOEXEC) == 0; }

bool open_socket_pair(int (&ends)[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
}

ssize_t send_quietly(int socket, std::string_view bytes) {
  return send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// tee() copies what a pipe holds and leaves it there.
ssize_t peek_pipe(int fd, char* to, size_t size) {
  int copy[2];
  if (!open_pipe(copy)) return -1;
  ssize_t n = -1;
  do {
    n = tee(fd, copy[1], size, 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) n = read(copy[0], to, size);
  close(copy[0]);
  close(copy[1]);
  return n;
}

locale_t utf8_letters() { return newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr); }

const char* const kBlasLibraries[] = {"libopenblas.so.0", "libopenblas.so", nullptr};
const char* const kBlasPackage = "package libopenblas0";

}  // namespace bert::platform
