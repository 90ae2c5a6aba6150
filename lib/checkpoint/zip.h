#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace bert {

/// The entries of a zip archive as torch.save writes it: stored, not compressed, so that their
/// bytes are used where the mapped file has them. One file for every reader: an archive with an
/// entry twice, with names that differ between directory and entry, with bytes behind its end or
/// entries its directory does not count is refused. Throws Error(data) naming `path` and the entry.
///
/// Thread rule: const after open(), but check() is for one thread at a time.
class ZipArchive {
 public:
  static ZipArchive open(std::span<const std::byte> file, const std::string& path);

  struct Entry {
    std::span<const std::byte> data;
    uint64_t directory_offset = 0;  ///< place of its record in the central directory
    uint64_t number = 0;
  };
  const std::unordered_map<std::string, Entry>& entries() const { return entries_; }
  /// nullptr if there is none.
  const Entry* find(const std::string& name) const;
  /// Compares the entry's content with its CRC-32. Reads all of it.
  void check(const std::string& name) const;

 private:
  ZipArchive(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  std::span<const std::byte> file_;
  std::string path_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace bert
