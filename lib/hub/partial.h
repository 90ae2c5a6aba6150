#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hub/digest.h"
#include "hub/listing.h"

namespace bert {

/// The beginning of a file that is on its way, in the folder of the blobs under the name
/// HASH.ETAG.RANDOM.incomplete. The file is of this process alone, so that two that write at once,
/// where locks do nothing, cannot mix their bytes. An earlier pull's file is copied; it is removed
/// at once, or with the whole file in place if another process may still write to it.
///
/// It stays if the process ends, and the next pull goes on from there.
class Partial {
 public:
  /// Takes over the longest that an earlier pull left, if there is one, and removes the others.
  Partial(const std::string& blobs, const RemoteFile& file);
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;
  ~Partial();

  uint64_t size() const { return size_; }
  /// The server's ETag of the bytes that are there, with its quotes; empty if it is not known.
  std::string etag() const;
  /// Appends bytes of a body with this ETag. Throws Error(io or cannot_create or permission); where
  /// the disk is full, the file is removed.
  void write(std::string_view bytes, const std::string& etag);
  /// Begins again with no bytes.
  void restart();
  /// The hash of all bytes. Nothing can be appended then.
  std::string finish();
  /// Brings the bytes to the disk and gives the file its name. False if another process has removed
  /// the file.
  bool commit(const std::string& path);

  /// Removes what pulls of the blob HASH left, and what others have begun.
  static void remove_all(const std::string& blobs, const std::string& hash);
  /// The bytes of the files that pulls of the blob HASH left.
  static uint64_t bytes_of(const std::string& blobs, const std::string& hash);

 private:
  void create(const std::string& etag);
  void flush();
  void take_over();
  void close_file();
  [[noreturn]] void fail(const char* action, int error_number);

  std::string blobs_;
  const RemoteFile& file_;
  std::string path_;  ///< empty: no file
  std::string etag_;  ///< as in the name: without quotes, "-" for none
  int fd_ = -1;
  uint64_t size_ = 0;
  std::string buffer_;
  Digest digest_;
};

}  // namespace bert
