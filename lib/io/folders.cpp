#include "io/folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace bert {

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files, folders{folder};
  while (!folders.empty()) {
    const std::string at = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator entry(at.empty() ? "." : at, error);
    if (error) files.push_back(at.empty() ? "." : at);
    const std::string before = at.empty() || at.ends_with('/') ? at : at + '/';
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code unknown;
      const fs::file_status status = entry->symlink_status(unknown);
      std::string name = before + entry->path().filename().string();
      if (fs::is_directory(status)) {
        folders.push_back(std::move(name));
      } else if (fs::is_regular_file(status)) {
        files.push_back(std::move(name));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace bert
