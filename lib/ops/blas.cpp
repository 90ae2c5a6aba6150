#include "ops/blas.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/platform.h"

namespace bert {
namespace {

/// As <cblas.h> has them, which no system needs to have: the library is loaded at the first need.
enum CblasOrder : int { kRowMajor = 101 };
enum Transpose : int { kNoTrans = 111, kTrans = 112 };
using Sgemm = void (*)(CblasOrder, Transpose, Transpose, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);

/// The least of OpenBLAS's cores that uses all vector instructions of this CPU; "" lets OpenBLAS
/// choose.
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

/// Sets an environment variable; the destructor restores the old value.
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
  Sgemm sgemm = nullptr;
  std::string core;
  std::string version;
  bool limited = false;  ///< the address space is limited
};

/// The most address space that OpenBLAS maps for each product that runs at the same time. It
/// retries for ever if mapping fails. So with a limited address space only one product runs at a
/// time, and load() runs the first one, to map the memory.
constexpr size_t kAddressSpace = 192 << 20;

bool is_address_space_limited() {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void check_address_space() {
  void* room =
      mmap(nullptr, kAddressSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, kAddressSpace);
}

void run_first(Sgemm sgemm) {
  constexpr int kSize = 128;  // for smaller products it maps no memory
  const std::vector<float> a(kSize * kSize);
  std::vector<float> c(a);
  sgemm(kRowMajor, kNoTrans, kNoTrans, kSize, kSize, kSize, 1.f, a.data(), kSize, a.data(), kSize,
        0.f, c.data(), kSize);
}

Blas load() {
  const std::string best = best_core();
  const WithEnvironment core("OPENBLAS_CORETYPE", best);
  const WithEnvironment threads("OPENBLAS_NUM_THREADS", "1");
  Blas blas;
  blas.limited = is_address_space_limited();
  if (blas.limited) check_address_space();
  void* library = nullptr;
  for (const char* const* name = platform::kBlasLibraries; *name && !library; ++name) {
    library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) return blas;
  blas.sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  if (!blas.sgemm) return blas;
  if (blas.limited) run_first(blas.sgemm);
  if (void* name = dlsym(library, "openblas_get_corename")) {
    blas.core = reinterpret_cast<char* (*)()>(name)();
  }
  if (void* config = dlsym(library, "openblas_get_config")) {
    // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
    std::istringstream words(reinterpret_cast<char* (*)()>(config)());
    words >> blas.version >> blas.version;
  }
  const bool overruled = core.old() && !best.empty() && *core.old() != best;
  blas.state = overruled ? BlasState::forced : BlasState::ok;
  return blas;
}

const Blas& blas() {
  static const Blas loaded = load();
  return loaded;
}

void gemm(Transpose transpose_a, Transpose transpose_b, const float* a, size_t lda, const float* b,
          size_t ldb, float* c, size_t ldc, size_t m, size_t n, size_t k, float beta) {
  if (!blas().sgemm) {
    throw Error(Error::Kind::no_input, platform::kBlasLibraries[0],
                std::string("OpenBLAS cannot be loaded, and these products need it (") +
                    platform::kBlasPackage + ")");
  }
  static std::mutex one_at_a_time;
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  if (blas().limited) lock.lock();
  blas().sgemm(kRowMajor, transpose_a, transpose_b, static_cast<int>(m), static_cast<int>(n),
               static_cast<int>(k), 1.f, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta,
               c, static_cast<int>(ldc));
}

}  // namespace

BlasState blas_state() { return blas().state; }

std::string_view blas_core() { return blas().core; }

std::string blas_version() { return blas().version; }

bool uses_blas() {
  static const bool uses = [] {
    const char* wanted = std::getenv("BERT_KERNELS");
    const bool asked = wanted && *wanted != '\0';
    if (asked && std::string_view(wanted) != "openblas") {
      throw Error(Error::Kind::usage, "BERT_KERNELS",
                  "found '" + printable(wanted) + "', wants openblas or nothing");
    }
    if (!asked && cpu_isa() != Isa::plain) return false;
    const bool missing = blas_state() == BlasState::missing;
    if (asked && missing) {
      throw Error(Error::Kind::no_input, "BERT_KERNELS", "OpenBLAS cannot be loaded");
    }
    return !missing;
  }();
  return uses;
}

void blas_gemm_nt(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(kNoTrans, kTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

void blas_gemm_nn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(kNoTrans, kNoTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

void blas_gemm_tn(const float* a, size_t lda, const float* b, size_t ldb, float* c, size_t ldc,
                  size_t m, size_t n, size_t k, float beta) {
  gemm(kTrans, kNoTrans, a, lda, b, ldb, c, ldc, m, n, k, beta);
}

}  // namespace bert
