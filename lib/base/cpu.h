#pragma once

#include <string_view>

#include "base/export.h"

namespace bert {

/// The instruction sets for which ops/ has kernels, weakest first.
enum class Isa { plain, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx };
constexpr Isa kIsas[] = {Isa::plain,       Isa::avx2,        Isa::avx2_vnni, Isa::avx512,
                         Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx};

/// The best set for this CPU and its operating system. The environment variable BERT_ISA (a name of
/// a set) may lower it, for tests and disputes; it may also name avx512_bf16 where the CPU has it
/// and is faster without. Decided once. Throws Error(usage) if that names a set that is not known
/// or that this CPU lacks.
BERT_API Isa cpu_isa();
BERT_API std::string_view isa_name(Isa isa);

/// What decides the set; each holds only where those below it do.
struct CpuFeatures {
  bool avx2 = false;         ///< with FMA and F16C
  bool avx2_vnni = false;    ///< vectors of 256 bits sum products of bytes, in either encoding
  bool avx512 = false;       ///< F, BW, DQ, VL
  bool avx512_vnni = false;  ///< implies avx2_vnni
  bool avx512_bf16 = false;
  bool tiles = false;  ///< AMX for bf16 and int8, and the system grants its registers
  bool amd = false;
};

BERT_API bool can_run(Isa isa, const CpuFeatures& cpu);
/// The fastest set. A table and no measurement, so that one machine computes the same bits at every
/// start: VDPBF16PS has twice the rate of float multiply-adds on AMD (Zen 4 and 5), half of it on
/// Intel (172 against 344 GFLOP/s on two cores), so there bf16 is worth it in tiles only.
BERT_API Isa best_isa(const CpuFeatures& cpu);

/// CPUs this process may use: the affinity mask, cut by the cgroup's CPU quota; at least 1.
BERT_API int allowed_cpus();

}  // namespace bert
