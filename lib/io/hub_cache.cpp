#include "io/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/parse.h"

namespace bert {
namespace {

constexpr std::string_view kWord =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// One side of the slash.
bool is_name_part(std::string_view part) {
  constexpr size_t kLongest = 96;
  const auto inner = [](char c) { return kWord.find(c) != kWord.npos || c == '-' || c == '.'; };
  return !part.empty() && part.size() <= kLongest && kWord.find(part.front()) != kWord.npos &&
         kWord.find(part.back()) != kWord.npos && std::all_of(part.begin(), part.end(), inner);
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string expanded_path(const std::string& path) {
  std::string out;
  size_t at = 0;
  if (const auto home = environment("HOME"); home && (path == "~" || path.starts_with("~/"))) {
    out = *home;
    at = 1;
  }
  while (at < path.size()) {
    const bool braces = path.compare(at, 2, "${") == 0;
    const size_t begin = at + (braces ? 2 : 1);
    const size_t end = std::min(path.find_first_not_of(kWord, begin), path.size());
    const bool named = path[at] == '$' && end > begin && (!braces || path[end] == '}');
    const char* value = named ? std::getenv(path.substr(begin, end - begin).c_str()) : nullptr;
    if (value) {
      out += value;
      at = end + (braces ? 1 : 0);
    } else {
      out += path[at++];
    }
  }
  return out;
}

std::string hub_home() {
  if (const auto home = environment("HF_HOME")) return expanded_path(*home);
  if (const auto cache = environment("XDG_CACHE_HOME")) {
    return expanded_path(*cache + "/huggingface");
  }
  if (const auto home = environment("HOME")) return *home + "/.cache/huggingface";
  return "";
}

std::string hub_cache() {
  const std::string home = hub_home();
  std::string cache = home.empty() ? "" : home + "/hub";
  for (const char* name : {"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"}) {
    if (const auto path = environment(name)) cache = expanded_path(*path);
  }
  if (cache.empty()) return "";
  std::error_code error;
  const std::string path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(cache, error), error);
  if (error) return cache;
  return path.substr(0, std::max<size_t>(path.find_last_not_of('/') + 1, 1));
}

bool is_hub_name(std::string_view name) {
  if (name.find("--") != name.npos || name.find("..") != name.npos || name.ends_with(".git")) {
    return false;
  }
  const auto parts = split(name, '/');
  return parts.size() <= 2 && std::all_of(parts.begin(), parts.end(), is_name_part);
}

std::string hub_folder(std::string_view name) {
  std::string folder = "models";
  for (const std::string_view part : split(name, '/')) folder.append("--").append(part);
  return folder;
}

}  // namespace bert
