#pragma once

#include <string>
#include <string_view>

#include "directory/model_files.h"
#include "io/output_file.h"

namespace bert {

/// A directory with the files that a model from scratch begins with, inside the run's own. The
/// destructor removes it. It exists only under the lock of its run: another run, once it has the
/// lock, removes all unfinished files.
class Beginning {
 public:
  Beginning(const std::string& output, const NamedFiles& files);
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  ~Beginning() { remove(); }

  const std::string& path() const { return path_; }
  /// One more file.
  void add(std::string_view name, const std::string& content) const;

 private:
  void remove() const;

  OutputDirectory output_;  // goes last
  FileLock lock_;
  std::string path_;
};

}  // namespace bert
