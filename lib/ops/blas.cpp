#include "ops/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/error.h"

namespace bert {
namespace {

/// The weakest of OpenBLAS's cores that uses all this CPU has; "" leaves the choice to it.
std::string best_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

/// Sets an environment variable and puts back what was there.
class WithEnvironment {
 public:
  WithEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (!value.empty()) setenv(name, value.c_str(), 1);
  }
  ~WithEnvironment() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const std::optional<std::string>& old() const { return old_; }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

struct Blas {
  BlasState state = BlasState::missing;
  decltype(&cblas_sgemm) sgemm = nullptr;
  std::string core;
};

/// OpenBLAS maps this much or less, and tries for ever where it may not.
constexpr size_t kAddressSpace = 192 << 20;

void check_address_space() {
  void* room =
      mmap(nullptr, kAddressSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, kAddressSpace);
}

Blas load() {
  check_address_space();
  const std::string best = best_core();
  const WithEnvironment core("OPENBLAS_CORETYPE", best);
  const WithEnvironment threads("OPENBLAS_NUM_THREADS", "1");
  Blas blas;
  void* library = nullptr;
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) return blas;
  blas.sgemm = reinterpret_cast<decltype(blas.sgemm)>(dlsym(library, "cblas_sgemm"));
  if (!blas.sgemm) return blas;
  if (void* name = dlsym(library, "openblas_get_corename")) {
    blas.core = reinterpret_cast<char* (*)()>(name)();
  }
  const bool overruled = core.old() && !best.empty() && *core.old() != best;
  blas.state = overruled ? BlasState::forced : BlasState::ok;
  return blas;
}

const Blas& blas() {
  static const Blas loaded = load();
  return loaded;
}

void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, const float* a, size_t lda,
          const float* b, size_t ldb, float* c, size_t ldc, size_t m, size_t n, size_t k,
          float beta) {
  if (!blas().sgemm) {
    throw Error(Error::Kind::no_input, "libopenblas.so.0",
                "OpenBLAS cannot be loaded, and these products need it (package libopenblas0)");
  }
  blas().sgemm(CblasRowMajor, transpose_a, transpose_b, static_cast<int>(m), static_cast<int>(n),
               static_cast<int>(k), 1.f, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta,
               c, static_cast<int>(ldc));
}

}  // namespace

BlasState blas_state() { return blas().state; }

std::string_view blas_core() { return blas().core; }

bool uses_blas() {
  static const bool uses = [] {
    const char* wanted = std::getenv("BERT_KERNELS");
    const bool asked = wanted && std::string_view(wanted) == "openblas";
    return (cpu_isa() == Isa::plain || asked) && blas_state() != BlasState::missing;
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
