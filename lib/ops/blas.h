#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// All calls of BLAS go through here (OpenBLAS, a package that we depend on). Linear uses BLAS if
/// ops/ has no vector kernels for the CPU, or with BERT_KERNELS=openblas. Training uses it for its
/// products.
///
/// OpenBLAS is loaded on first use, not linked, for two reasons. Loading takes 2 ms and starts
/// threads. And we can choose its core (OPENBLAS_CORETYPE) first: before 0.3.25 it chose SSE3
/// kernels on many new CPUs. It gets one thread, since our threads share the work. If the address
/// space is limited, it runs one product at a time: for a second one it would wait for memory for
/// ever.
///
/// Thread rule: the first call of any function here loads OpenBLAS; make it before threads start.
/// It throws std::bad_alloc if OpenBLAS lacks address space.

enum class BlasState {
  ok,       ///< loaded, with the core that suits this CPU
  forced,   ///< loaded with the core that suits this CPU, not that of OPENBLAS_CORETYPE
  missing,  ///< OpenBLAS cannot be loaded
};

BERT_API BlasState blas_state();
/// The core of OpenBLAS ("SkylakeX"); "" if it is missing.
BERT_API std::string_view blas_core();
/// Its version ("0.3.21"); "" if it is missing.
BERT_API std::string blas_version();

/// Whether BLAS computes the float products of Linear: if there are no vector kernels for this CPU
/// and OpenBLAS can be loaded, or with BERT_KERNELS=openblas. Throws Error(usage) for any other
/// BERT_KERNELS, Error(no_input) if it asks for OpenBLAS and that is missing.
BERT_API bool uses_blas();

/// The products throw Error(no_input) if OpenBLAS is missing.
///
/// c [m, n] = a [m, k] b^T, where b is [n, k]; beta = 1 adds to c.
BERT_API void blas_gemm_nt(const float* a, size_t lda, const float* b, size_t ldb, float* c,
                           size_t ldc, size_t m, size_t n, size_t k, float beta = 0);
/// c [m, n] = a [m, k] b [k, n]
BERT_API void blas_gemm_nn(const float* a, size_t lda, const float* b, size_t ldb, float* c,
                           size_t ldc, size_t m, size_t n, size_t k, float beta = 0);
/// c [m, n] = a^T b, where a is [k, m] and b is [k, n]
BERT_API void blas_gemm_tn(const float* a, size_t lda, const float* b, size_t ldb, float* c,
                           size_t ldc, size_t m, size_t n, size_t k, float beta = 0);

}  // namespace bert
