#include "base/cpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace bert {
namespace {

#if defined(__x86_64__)
/// Whether the CPU has AMX for bf16 and int8, and the system grants this process its registers.
bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // bf16, tiles, int8
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if ((d & kAmx) != kAmx) return false;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // <asm/prctl.h> of Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

/// Whether vectors of 256 bits can sum products of bytes, in one encoding or the other.
bool has_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avxvnni") ||
         (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl"));
#else
  return false;
#endif
}

Isa detect_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) {
    if (!__builtin_cpu_supports("avx512vnni")) return Isa::avx512;
    return __builtin_cpu_supports("avx512bf16") && may_use_tiles() ? Isa::amx : Isa::avx512_vnni;
  }
  // Every CPU with AVX2 has F16C.
  if (avx2) return has_vnni() ? Isa::avx2_vnni : Isa::avx2;
#endif
  return Isa::plain;
}

Isa choose_isa() {
  const Isa best = detect_isa();
  const char* wanted = std::getenv("BERT_ISA");
  if (!wanted) return best;
  for (Isa isa : {Isa::plain, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni, Isa::amx}) {
    if (isa_name(isa) != wanted) continue;
    // AVX-512 came before VNNI.
    if (isa == Isa::avx2_vnni && !has_vnni()) isa = Isa::avx2;
    return std::min(isa, best);
  }
  return best;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// CPUs the cgroup grants (version 2, then 1), rounded up; `limit` where it sets no quota.
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
  if (quota <= 0 || period <= 0) return limit;  // "max", or -1: no quota
  return static_cast<int>(std::min<double>(limit, (quota + period - 1) / period));
}

}  // namespace

Isa cpu_isa() {
  static const Isa isa = choose_isa();
  return isa;
}

bool cpu_bf16() {
#if defined(__x86_64__)
  static const bool has = cpu_isa() >= Isa::avx512_vnni && __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx2_vnni:
      return "avx2_vnni";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::amx:
      return "amx";
    default:
      return "plain";
  }
}

int allowed_cpus() {
  // Machines with more than 1024 CPUs need a larger mask.
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

}  // namespace bert
