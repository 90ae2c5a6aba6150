#include "hub/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"

namespace bert {
namespace {

/// For instance, a system that is limited to the algorithms of FIPS may lack one.
void check(int result) {
  if (result == 1) return;
  throw Error(Error::Kind::unsupported, "OpenSSL", "cannot compute SHA-256 or SHA-1");
}

}  // namespace

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(Kind kind, uint64_t size) : state_(std::make_unique<State>()) {
  const EVP_MD* algorithm = kind == Kind::sha256 ? EVP_sha256() : EVP_sha1();
  check(state_->context && EVP_DigestInit_ex(state_->context, algorithm, nullptr));
  if (kind == Kind::git_sha1) {
    std::string header = fmt::format("blob {}", size);
    header += '\0';
    add(header);
  }
}

Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::add(std::string_view bytes) {
  check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

std::string Digest::finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(state_->context, bytes, &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace bert
