#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/listing.h"

namespace bert {

/// A model in the Hugging Face cache, as huggingface_hub lays it out:
///
///   CACHEDIR.TAG
///   .locks/models--ORG--NAME/HASH.lock
///   models--ORG--NAME/blobs/HASH
///                     refs/main                       the commit
///                     snapshots/COMMIT/config.json -> ../../blobs/HASH
///
/// Files appear in it whole, and those of a commit together. What is not whole lies where nobody
/// looks for a model. All functions may run in several processes at once.
class ModelCache {
 public:
  ModelCache(const std::string& cache, const std::string& name);

  std::string blobs() const { return folder_ + "/blobs"; }
  std::string blob(const RemoteFile& file) const { return blobs() + "/" + file.hash; }
  std::string lock(const RemoteFile& file) const { return locks_ + "/" + file.hash + ".lock"; }
  std::string snapshot(const std::string& commit) const;
  /// Where the whole file is; empty if it is missing or of another size.
  std::string find(const std::string& commit, const RemoteFile& file) const;

  /// Removes a file whose bytes are wrong.
  void discard(const std::string& commit, const RemoteFile& file) const;
  /// Makes the folders and the tag.
  void prepare() const;
  /// Puts the files, whose blobs are there, into the snapshot: a new one at once, and into an older
  /// one config.json last. Does nothing where all are there.
  void link(const std::string& commit, const std::vector<RemoteFile>& files) const;
  /// Notes which commit a branch or tag stands for.
  void write_ref(const std::string& revision, const std::string& commit) const;

 private:
  bool place(const std::string& directory, const RemoteFile& file) const;
  bool place_all(const std::string& directory, const std::vector<RemoteFile>& files) const;
  void publish(const std::string& path, const std::string& text,
               const std::string& unfinished) const;

  std::string cache_, folder_, locks_;
};

/// Waits until no other process downloads the same file. Where the file system has no locks, it
/// does nothing, and two processes may load the same bytes twice.
class DownloadLock {
 public:
  /// `waiting` is called once, if it takes long.
  template <typename Waiting>
  DownloadLock(const std::string& path, const Waiting& waiting) : fd_(open_lock(path)) {
    for (int tries = 0; !try_lock(); ++tries) {
      if (tries == 10) waiting();
      pause();
    }
  }
  DownloadLock(const DownloadLock&) = delete;
  DownloadLock& operator=(const DownloadLock&) = delete;
  ~DownloadLock();

 private:
  static int open_lock(const std::string& path);
  bool try_lock() const;
  static void pause();
  int fd_;
};

}  // namespace bert
