#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Bytes of a large page of the page cache, where the kernel has them.
constexpr size_t kHugePage = size_t{2} << 20;

/// A regular file mapped read-only and shared: processes that map the same weights share its pages.
/// Anything but a regular file is refused before it is read. Throws Error (no_input, permission,
/// io).
class BERT_API MappedFile {
 public:
  MappedFile() = default;
  /// `max_bytes`: larger files are refused as Error(data); 0: no limit.
  static MappedFile open(const std::string& path, uint64_t max_bytes = 0);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// From now on the file may change or shrink: its bytes are copied, and the copy takes the
  /// mapping's place at the same address. Throws Error(no_memory).
  void hold();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  size_t size() const { return size_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Whether `path` names something that exists, of any kind. Throws Error where that cannot be said,
/// and for a link to nothing, which was meant to be something.
bool file_exists(const std::string& path);

}  // namespace bert
