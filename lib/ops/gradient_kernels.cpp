#include "ops/gradient_kernels.h"

#include "base/cpu.h"

namespace bert {
namespace {

const GradientTable& choose() {
#if defined(__x86_64__)
  switch (cpu_isa()) {
    case Isa::amx:
    case Isa::avx512_bf16:
    case Isa::avx512_vnni:
    case Isa::avx512:
      return gradient_kernels_avx512();
    case Isa::avx2_vnni:
    case Isa::avx2:
      return gradient_kernels_avx2();
    default:
      break;
  }
#elif defined(__aarch64__)
  if (cpu_isa() != Isa::plain) return gradient_kernels_neon();
#endif
  return gradient_kernels_plain();
}

}  // namespace

const GradientTable& gradient_kernels() {
  static const GradientTable& table = choose();
  return table;
}

}  // namespace bert
