#pragma once

#include <string_view>

#include "base/export.h"

namespace bert {

/// The instruction sets for which ops/ has kernels, weakest first.
enum class Isa { plain, avx2, avx2_vnni, avx512, avx512_vnni, amx };

/// The best set this CPU and its operating system can run. The environment variable BERT_ISA
/// (plain, avx2, avx2_vnni, avx512, avx512_vnni, amx) may lower it, for tests and disputes. Decided
/// once.
BERT_API Isa cpu_isa();
BERT_API std::string_view isa_name(Isa isa);

/// Whether bf16 products run in hardware (AVX512_BF16); needs Isa::avx512_vnni or more.
BERT_API bool cpu_bf16();

/// CPUs this process may use: the affinity mask, cut by the cgroup's CPU quota; at least 1.
BERT_API int allowed_cpus();

}  // namespace bert
