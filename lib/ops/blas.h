#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// The library's only way to BLAS (OpenBLAS, a package of this project). Linear uses it where ops/
/// has no vector kernels for the CPU, or with BERT_KERNELS=openblas; training uses it for its
/// products.
///
/// OpenBLAS is loaded at the first need, not linked: loading it starts threads and takes 2 ms; and
/// the core it computes for can be named before it looks at the environment or misjudges the CPU
/// (before 0.3.25 it took the SSE3 kernels on many new ones). Since threads are ours, it gets one.
/// Where the address space is limited it runs one product at a time: it would wait for ever for the
/// memory of a second.
///
/// Thread rule: the first call of any function here loads; make it before starting threads. It
/// throws std::bad_alloc where OpenBLAS lacks address space.

enum class BlasState {
  ok,       ///< loaded, computing for the core that suits this CPU
  forced,   ///< loaded; OPENBLAS_CORETYPE asked for weaker kernels and was overruled
  missing,  ///< there is no OpenBLAS to load
};

BERT_API BlasState blas_state();
/// The core OpenBLAS computes for ("SkylakeX"); "" if it is missing.
BERT_API std::string_view blas_core();
/// Its version ("0.3.21"); "" if it is missing.
BERT_API std::string blas_version();

/// Whether float products of Linear are BLAS's: where there are no vector kernels, or
/// BERT_KERNELS=openblas. Without such kernels and without BLAS, it is not. Throws Error(usage) of
/// another BERT_KERNELS, Error(no_input) if BLAS is asked for and missing.
BERT_API bool uses_blas();

/// The products throw Error(no_input) if OpenBLAS is missing.
///
/// c [m, n] = a [m, k] b^T, b being [n, k]; beta = 1 adds to c.
void blas_gemm_nt(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);
/// c [m, n] = a [m, k] b [k, n]
void blas_gemm_nn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);
/// c [m, n] = a^T b, a being [k, m] and b [k, n]
void blas_gemm_tn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta = 0);

}  // namespace bert
