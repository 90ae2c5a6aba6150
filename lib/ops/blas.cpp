#include "ops/blas.h"

#include <cblas.h>

#include <cstdlib>

#include "base/cpu.h"

extern "C" {
// Weak: any other BLAS links as well. The last two are exported by the shared OpenBLAS only.
char* openblas_get_corename() __attribute__((weak));
void openblas_set_num_threads(int) __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace bert {
namespace {

/// 0 SSE, 1 AVX, 2 AVX2, 3 AVX-512: what the kernels of an OpenBLAS core use.
int rank_of_core(std::string_view core) {
  for (std::string_view name : {"SkylakeX", "Cooperlake", "SapphireRapids"}) {
    if (core == name) return 3;
  }
  for (std::string_view name : {"Haswell", "Zen", "Excavator"}) {
    if (core == name) return 2;
  }
  for (std::string_view name : {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller"}) {
    if (core == name) return 1;
  }
  for (std::string_view name :
       {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Nano", "Athlon", "Opteron",
        "Barcelona", "Bobcat", "Katmai", "Coppermine", "Northwood", "Banias", "Opteron_SSE3"}) {
    if (core == name) return 0;
  }
  return 3;  // another architecture, or newer than this list
}

int rank_of_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return 3;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 2;
#endif
  return 0;
}

BlasState tune_once() {
  if (!openblas_get_corename) return BlasState::other_blas;
  BlasState state = BlasState::ok;
  if (rank_of_core(openblas_get_corename()) < rank_of_cpu()) {
    if (std::getenv("OPENBLAS_CORETYPE")) {
      state = BlasState::forced_slow;
    } else if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit) {
      state = BlasState::cannot_switch;
    } else {
      // Detection by model number failed; naming a core bypasses it.
      setenv("OPENBLAS_CORETYPE", rank_of_cpu() == 3 ? "SkylakeX" : "Haswell", 1);
      gotoblas_dynamic_quit();
      gotoblas_dynamic_init();
      unsetenv("OPENBLAS_CORETYPE");
      state = BlasState::switched;
    }
  }
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  return state;
}

}  // namespace

BlasState tune_blas() {
  static const BlasState state = tune_once();
  return state;
}

std::string_view blas_core() {
  tune_blas();
  return openblas_get_corename ? openblas_get_corename() : "";
}

namespace {

void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, const float* a, size_t lda,
          const float* b, size_t ldb, float* c, size_t ldc, size_t m, size_t n, size_t k,
          float beta) {
  tune_blas();
  cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1.f, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c,
              static_cast<int>(ldc));
}

}  // namespace

bool uses_blas() {
  static const bool uses = [] {
    const char* wanted = std::getenv("BERT_KERNELS");
    return cpu_isa() == Isa::plain || (wanted && std::string_view(wanted) == "openblas");
  }();
  return uses;
}

void blas_gemm_nt(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(CblasNoTrans, CblasTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

void blas_gemm_nn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(CblasNoTrans, CblasNoTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

void blas_gemm_tn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(CblasTrans, CblasNoTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

}  // namespace bert
