#include "ops/arithmetic.h"

#include "base/cpu.h"
#include "ops/blas.h"
#include "ops/kernels/kernel_table.h"

namespace bert {

std::string kernel_set() {
  std::string set(isa_name(cpu_isa()));
  if (uses_blas()) set += "+openblas-" + blas_version() + "-" + std::string(blas_core());
  return set;
}

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "bf16";
    case Precision::int8:
      return "int8";
    default:
      return "f32";
  }
}

std::string_view products_in(Precision precision) {
  const KernelTable& table = kernels();
  switch (precision) {
    case Precision::bf16:
      return table.gemm_bf16 ? "bf16" : "f32";
    case Precision::int8:
      return table.int8_to_bf16 ? "bf16" : "int8";
    default:
      break;
  }
  if (table.gemm_split) return "bf16x3";  // the encoder's; heads are f32
  return uses_blas() ? "openblas" : "f32";
}

}  // namespace bert
