#include "hub/digest.h"

#include <fmt/format.h>
#if defined(__APPLE__)  // which brings its own
#include <CommonCrypto/CommonDigest.h>
#else
#include <openssl/evp.h>
#endif

#include <memory>

#include "base/error.h"

namespace bert {
#if defined(__APPLE__)

struct Digest::State {
  bool long_hash;
  CC_SHA256_CTX sha256{};
  CC_SHA1_CTX sha1{};

  explicit State(Kind kind) : long_hash(kind == Kind::sha256) {
    if (long_hash) {
      CC_SHA256_Init(&sha256);
    } else {
      CC_SHA1_Init(&sha1);
    }
  }
  void add(const void* bytes, size_t size) {
    constexpr size_t kMost = size_t{1} << 30;  // CC_LONG has 32 bits
    for (auto* p = static_cast<const char*>(bytes); size > 0;) {
      const size_t n = size < kMost ? size : kMost;
      if (long_hash) {
        CC_SHA256_Update(&sha256, p, static_cast<CC_LONG>(n));
      } else {
        CC_SHA1_Update(&sha1, p, static_cast<CC_LONG>(n));
      }
      p += n;
      size -= n;
    }
  }
  unsigned finish(unsigned char* bytes) {
    if (long_hash) {
      CC_SHA256_Final(bytes, &sha256);
    } else {
      CC_SHA1_Final(bytes, &sha1);
    }
    return long_hash ? CC_SHA256_DIGEST_LENGTH : CC_SHA1_DIGEST_LENGTH;
  }
};

#else

namespace {

/// For instance, a system that is limited to the algorithms of FIPS may lack one.
void check(int result) {
  if (result == 1) return;
  throw Error(Error::Kind::unsupported, "OpenSSL", "cannot compute SHA-256 or SHA-1");
}

}  // namespace

struct Digest::State {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free};

  explicit State(Kind kind) {
    const EVP_MD* algorithm = kind == Kind::sha256 ? EVP_sha256() : EVP_sha1();
    check(context && EVP_DigestInit_ex(context.get(), algorithm, nullptr));
  }
  void add(const void* bytes, size_t size) { check(EVP_DigestUpdate(context.get(), bytes, size)); }
  unsigned finish(unsigned char* bytes) {
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context.get(), bytes, &size));
    return size;
  }
};

#endif

Digest::Digest(Kind kind, uint64_t size) : state_(std::make_unique<State>(kind)) {
  if (kind == Kind::git_sha1) {
    std::string header = fmt::format("blob {}", size);
    header += '\0';
    add(header);
  }
}

Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::add(std::string_view bytes) { state_->add(bytes.data(), bytes.size()); }

std::string Digest::finish() {
  unsigned char bytes[64];
  const unsigned size = state_->finish(bytes);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace bert
