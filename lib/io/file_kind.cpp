#include "io/file_kind.h"

#include <algorithm>
#include <string>

namespace bert {

std::string_view file_kind(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) return "a git-lfs pointer, not the file itself";
  std::string text(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size()), 16));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* tag : {"<!doctype", "<html", "<head", "<?xml", "<error"}) {
    if (text.starts_with(tag)) return "an HTML or XML page";
  }
  if (start.starts_with("PK\x03\x04")) return "a zip archive";
  if (start.starts_with("\x1F\x8B")) return "a gzip file";
  if (start.starts_with("\x89HDF\r\n")) return "an HDF5 file (tf_model.h5)";
  if (start.size() > 262 && start.substr(257, 5) == "ustar") return "a tar archive";
  if (start.starts_with("GGUF")) return "a GGUF file";
  if (start.size() > 1 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5 &&
      start.size() > 2 && start[2] != 0) {
    return "a pickle";
  }
  return "";
}

}  // namespace bert
