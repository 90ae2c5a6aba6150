#pragma once

#include <string_view>

#include "base/export.h"

namespace bert {

/// The instruction sets for which ops/ has kernels, weakest first.
enum class Isa {
  plain,
  // ARM
  neon,
  neon_dotprod,
  neon_i8mm,
  neon_bf16,
  // x86
  avx2,
  avx2_vnni,
  avx512,
  avx512_vnni,
  avx512_bf16,
  amx
};
constexpr Isa kIsas[] = {Isa::plain,       Isa::neon,        Isa::neon_dotprod, Isa::neon_i8mm,
                         Isa::neon_bf16,   Isa::avx2,        Isa::avx2_vnni,    Isa::avx512,
                         Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx};

/// The set that the kernels use: best_isa, or the set that the environment variable BERT_ISA names,
/// for tests and comparisons. Chosen once per process. Throws Error(usage) if BERT_ISA names an
/// unknown set or a set that this CPU lacks.
BERT_API Isa cpu_isa();
BERT_API std::string_view isa_name(Isa isa);

/// The CPU features that decide which sets can run.
struct CpuFeatures {
  bool neon = false;          ///< every 64-bit ARM has it
  bool neon_dotprod = false;  ///< SDOT
  bool neon_i8mm = false;     ///< SMMLA; implies neon_dotprod
  bool neon_bf16 = false;     ///< BFMMLA; implies neon_i8mm
  bool avx2 = false;          ///< with FMA and F16C
  bool avx2_vnni = false;     ///< sums byte products in 256 bits (AVX-VNNI, or AVX-512 VNNI)
  bool avx512 = false;        ///< F, BW, DQ, VL
  bool avx512_vnni = false;   ///< implies avx2_vnni
  bool avx512_bf16 = false;
  bool tiles = false;  ///< AMX for bf16 and int8, and the system grants its registers
  bool amd = false;
};

BERT_API bool can_run(Isa isa, const CpuFeatures& cpu);
/// The fastest set, by rule and not by measurement, so that a machine computes the same bits in
/// every run. VDPBF16PS has twice the rate of float multiply-adds on AMD (Zen 4 and 5), but half of
/// it on Intel (172 against 344 GFLOP/s on two cores), so Intel uses bf16 only in tiles (AMX).
BERT_API Isa best_isa(const CpuFeatures& cpu);

/// Whether this CPU has AVX-VNNI, which compilers before GCC 12 and clang 15 cannot name.
bool has_avx_vnni();

/// The number of CPUs this process may use: those of its affinity mask, at most the cgroup's CPU
/// quota, at least 1.
BERT_API int allowed_cpus();

}  // namespace bert
