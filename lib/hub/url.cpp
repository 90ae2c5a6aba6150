#include "hub/url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

namespace bert {
namespace {

using Handle = std::unique_ptr<CURLU, void (*)(CURLU*)>;

Handle parsed(const std::string& url) {
  Handle handle(curl_url(), curl_url_cleanup);
  if (!handle || curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return {nullptr, curl_url_cleanup};
  }
  return handle;
}

std::string part(CURLU* handle, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(handle, what, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl_free);
  return text;
}

}  // namespace

std::string origin_of(const std::string& url) {
  const Handle handle = parsed(url);
  if (!handle) return "";
  const std::string scheme = part(handle.get(), CURLUPART_SCHEME);  // in lower case
  std::string host = part(handle.get(), CURLUPART_HOST);
  if ((scheme != "http" && scheme != "https") || host.empty()) return "";
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return fmt::format("{}://{}:{}", scheme, host,
                     part(handle.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

bool is_web_url(const std::string& url) { return !origin_of(url).empty(); }

std::string shown_url(const std::string& url) {
  const Handle handle = parsed(url);
  if (!handle) {  // whatever it is, a secret stands before an @ or behind a ?
    const std::string shown = url.substr(0, url.find('?'));
    return shown.substr(shown.find('@') == std::string::npos ? 0 : shown.find('@') + 1);
  }
  for (const CURLUPart secret :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    curl_url_set(handle.get(), secret, nullptr, 0);
  }
  const std::string shown = part(handle.get(), CURLUPART_URL);
  return shown.ends_with('/') ? shown.substr(0, shown.size() - 1) : shown;
}

std::string url_escaped(std::string_view text, bool path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != kPlain.npos || (path && c == '/')) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace bert
