#include "hub/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/parse.h"
#include "hub/url.h"
#include "io/hub_cache.h"
#include "io/mapped_file.h"

namespace bert {
namespace {

/// As huggingface_hub reads its switches.
bool is_on(const char* name) {
  std::string value = environment(name).value_or("");
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks) + 1;
  return std::string(text.substr(begin, std::max(begin, end) - begin));
}

/// A token goes into a line of the request, so it must not end that line.
std::string checked_token(const std::string& token, const std::string& where) {
  const auto odd = [](char c) { return c <= ' ' || c > '~'; };
  if (std::any_of(token.begin(), token.end(), odd)) {
    throw Error(Error::Kind::usage, where, "found a token with blanks or control characters");
  }
  return token;
}

std::string find_token() {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto token = environment(name)) {
      if (const std::string text = trimmed(*token); !text.empty()) return checked_token(text, name);
    }
  }
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return "";
  std::string path = hub_home().empty() ? "" : hub_home() + "/token";
  if (const auto named = environment("HF_TOKEN_PATH")) path = expanded_path(*named);
  std::error_code error;
  if (path.empty() ||
      std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found) {
    return "";
  }
  return checked_token(trimmed(MappedFile::open(path, 1 << 16).text()), path);
}

std::string find_cache() {
  const std::string cache = hub_cache();
  if (!cache.empty()) return cache;
  throw Error(Error::Kind::cannot_create, "",
              "no place for models: set HF_HUB_CACHE, HF_HOME or HOME");
}

}  // namespace

HubSettings HubSettings::from_environment() {
  HubSettings settings;
  if (const auto endpoint = environment("HF_ENDPOINT")) {
    settings.endpoint = endpoint->substr(0, endpoint->find_last_not_of('/') + 1);
    if (!is_web_url(settings.endpoint) || endpoint->find_first_of("?#") != std::string::npos) {
      throw Error(Error::Kind::usage, "HF_ENDPOINT",
                  fmt::format("found '{}', wants https://HOST", shown_url(*endpoint)));
    }
  }
  if (const auto timeout = environment("HF_HUB_DOWNLOAD_TIMEOUT")) {
    const auto seconds = to_number<long>(std::string_view(*timeout));
    if (!seconds || *seconds < 1 || *seconds > 86400) {
      throw Error(Error::Kind::usage, "HF_HUB_DOWNLOAD_TIMEOUT",
                  fmt::format("found '{}', wants 1 to 86400 seconds", printable(*timeout)));
    }
    settings.timeout = *seconds;
  }
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (settings.offline.empty() && is_on(name)) settings.offline = name;
  }
  settings.hide_progress = is_on("HF_HUB_DISABLE_PROGRESS_BARS");
  settings.token = find_token();
  settings.cache = find_cache();
  return settings;
}

}  // namespace bert
