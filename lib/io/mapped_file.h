#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/export.h"

namespace bert {

/// Bytes of a huge page, which some kernels use in the page cache.
constexpr size_t kHugePage = size_t{2} << 20;

/// A regular file mapped read-only and shared: processes that map the same weights share its pages.
/// Any file that is not regular is refused before it is read. Throws Error (no_input, permission,
/// io).
class BERT_API MappedFile {
 public:
  MappedFile() = default;
  /// A file larger than `max_bytes` throws Error(data); 0 means no limit.
  static MappedFile open(const std::string& path, uint64_t max_bytes = 0);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// Copies the bytes to memory and puts the copy at the same address, so that the file may change
  /// or shrink from now on. Throws Error(no_memory).
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

/// Whether a file of any kind exists at `path`. Throws Error if the system does not tell, and for a
/// symbolic link whose target is missing.
BERT_API bool file_exists(const std::string& path);
/// Whether a directory entry of this name exists, even a link that leads nowhere: what stands there
/// is taken or refused, never passed over for another file.
BERT_API bool entry_exists(const std::string& path);

}  // namespace bert
