#pragma once

#include <cstddef>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The library's only way to BLAS (OpenBLAS, a package of this project). Linear uses it where ops/
/// has no vector kernels for the CPU, or with BERT_KERNELS=openblas; training uses it for its
/// products.

/// What was found when the kernels of OpenBLAS were compared with what the CPU can run.
enum class BlasState {
  ok,             ///< the right kernels, or better than expected
  switched,       ///< too weak ones were replaced (OpenBLAS before 0.3.25 misjudges new CPUs)
  forced_slow,    ///< the environment variable OPENBLAS_CORETYPE asks for weak ones: its user's
                  ///< choice
  cannot_switch,  ///< weak ones, in a build that cannot switch
  other_blas,     ///< not OpenBLAS
};

/// Looks at the kernels OpenBLAS chose, replaces them where they are too weak, and sets it to one
/// thread, since threads are ours. Does its work once, at the first call; costs nothing before.
BERT_API BlasState tune_blas();
/// The core OpenBLAS computes for ("SkylakeX"), "" for another BLAS.
BERT_API std::string_view blas_core();

/// Whether float products of Linear are BLAS's: where there are no vector kernels, or
/// BERT_KERNELS=openblas.
BERT_API bool uses_blas();

/// c [m, n] = a [m, k] b^T, b being [n, k]; beta = 1 adds to c.
void blas_gemm_nt(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);
/// Whether float products of Linear are BLAS's: where there are no vector kernels, or
/// BERT_KERNELS=openblas.
BERT_API bool uses_blas();

/// c [m, n] = a [m, k] b [k, n]
void blas_gemm_nn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);
/// Whether float products of Linear are BLAS's: where there are no vector kernels, or
/// BERT_KERNELS=openblas.
BERT_API bool uses_blas();

/// c [m, n] = a^T b, a being [k, m] and b [k, n]
void blas_gemm_tn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);

}  // namespace bert
