#include "base/cpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"

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

}  // namespace

bool has_avx_vnni() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAvxVnni = 1u << 4;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvxVnni) != 0;
#else
  return false;
#endif
}

namespace {

#if defined(__aarch64__) && defined(__APPLE__)
bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool has_dotprod() { return has_feature("hw.optional.arm.FEAT_DotProd"); }
bool has_i8mm() { return has_feature("hw.optional.arm.FEAT_I8MM"); }
bool has_bf16() { return has_feature("hw.optional.arm.FEAT_BF16"); }
#elif defined(__aarch64__)
bool has_dotprod() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
bool has_i8mm() { return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }
bool has_bf16() { return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }
#endif

/// The features of this CPU that its operating system lets us use.
CpuFeatures detect_features() {
  CpuFeatures cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto has_avx512 = [] {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  };
  // Every CPU with AVX2 has F16C.
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx512 = cpu.avx2 && has_avx512();
  cpu.avx512_vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
  cpu.avx512_bf16 = cpu.avx512_vnni && __builtin_cpu_supports("avx512bf16");
  cpu.avx2_vnni = cpu.avx2 && (has_avx_vnni() || cpu.avx512_vnni);
  cpu.tiles = cpu.avx512_bf16 && may_use_tiles();
  cpu.amd = __builtin_cpu_is("amd");
#elif defined(__aarch64__)
  cpu.neon = true;
  cpu.neon_dotprod = has_dotprod();
  cpu.neon_i8mm = cpu.neon_dotprod && has_i8mm();
  cpu.neon_bf16 = cpu.neon_i8mm && has_bf16();
#endif
  return cpu;
}

[[noreturn]] void refuse_isa(const char* found, const CpuFeatures& cpu) {
  std::string names;
  for (const Isa isa : kIsas) {
    if (can_run(isa, cpu)) names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  throw Error(Error::Kind::usage, "BERT_ISA",
              "found '" + printable(found) + "', wants one that this CPU runs: " + names);
}

Isa choose_isa() {
  const CpuFeatures cpu = detect_features();
  const char* wanted = std::getenv("BERT_ISA");
  if (!wanted || *wanted == '\0') return best_isa(cpu);
  for (const Isa isa : kIsas) {
    if (isa_name(isa) == wanted && can_run(isa, cpu)) return isa;
  }
  refuse_isa(wanted, cpu);
}

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

bool can_run(Isa isa, const CpuFeatures& cpu) {
  switch (isa) {
    case Isa::amx:
      return cpu.tiles;
    case Isa::avx512_bf16:
      return cpu.avx512_bf16;
    case Isa::avx512_vnni:
      return cpu.avx512_vnni;
    case Isa::avx512:
      return cpu.avx512;
    case Isa::avx2_vnni:
      return cpu.avx2_vnni;
    case Isa::avx2:
      return cpu.avx2;
    case Isa::neon_bf16:
      return cpu.neon_bf16;
    case Isa::neon_i8mm:
      return cpu.neon_i8mm;
    case Isa::neon_dotprod:
      return cpu.neon_dotprod;
    case Isa::neon:
      return cpu.neon;
    default:
      return true;
  }
}

Isa best_isa(const CpuFeatures& cpu) {
  CpuFeatures fast = cpu;
  fast.avx512_bf16 = cpu.avx512_bf16 && cpu.amd;
  Isa best = Isa::plain;
  for (const Isa isa : kIsas) {
    if (can_run(isa, fast)) best = isa;
  }
  return best;
}

Isa cpu_isa() {
  static const Isa isa = choose_isa();
  return isa;
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
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::amx:
      return "amx";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon_dotprod";
    case Isa::neon_i8mm:
      return "neon_i8mm";
    case Isa::neon_bf16:
      return "neon_bf16";
    default:
      return "plain";
  }
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

}  // namespace bert
