#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bert {

/// The hash by which the hub names a file: SHA-256 for files in Git LFS, and for others that of a
/// git blob, SHA-1 over a header with the size and the bytes.
class Digest {
 public:
  enum class Kind { sha256, git_sha1 };

  /// `size`: of the whole file.
  Digest(Kind kind, uint64_t size);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void add(std::string_view bytes);
  /// In hexadecimal, of all that was added. Ends the computation.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bert
