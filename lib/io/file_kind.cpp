#include "io/file_kind.h"

#include <algorithm>

namespace bert {

std::string_view file_kind(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) return "a git-lfs pointer, not the file itself";
  const size_t text = std::min(start.find_first_not_of(" \t\r\n"), start.size());
  if (start.substr(text).starts_with("<")) return "an HTML or XML page";
  if (start.starts_with("PK\x03\x04")) return "a zip archive";
  if (start.starts_with("\x1F\x8B")) return "a gzip file";
  if (start.starts_with("\x89HDF\r\n")) return "an HDF5 file (tf_model.h5)";
  if (start.size() > 262 && start.substr(257, 5) == "ustar") return "a tar archive";
  if (start.starts_with("GGUF")) return "a GGUF file";
  if (start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5) return "a pickle";
  return "";
}

}  // namespace bert
