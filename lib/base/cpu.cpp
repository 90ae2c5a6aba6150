#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/platform.h"

namespace bert {
namespace {

#if defined(__x86_64__)
/// Whether the CPU has AMX for bf16 and int8, and the system grants this process its registers.
bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmx = 1u << 22 | 1u << 24 | 1u << 25;  // bf16, tiles, int8
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d & kAmx) == kAmx && platform::may_use_tiles();
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
  const platform::ArmFeatures arm = platform::arm_features();
  cpu.neon_dotprod = arm.dotprod;
  cpu.neon_i8mm = cpu.neon_dotprod && arm.i8mm;
  cpu.neon_bf16 = cpu.neon_i8mm && arm.bf16;
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

int allowed_cpus() { return platform::allowed_cpus(); }

}  // namespace bert
