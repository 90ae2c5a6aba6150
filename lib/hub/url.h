#pragma once

#include <string>
#include <string_view>

namespace bert {

/// Whether `url` is http:// or https:// with a host.
bool is_web_url(const std::string& url);
/// Scheme, host and port of a URL, as "https://huggingface.co:443". Empty if it is none of the web.
std::string origin_of(const std::string& url);
/// `url` for messages: without the user, the password and the query, which may hold secrets.
std::string shown_url(const std::string& url);
/// `text` with the bytes that mean something in a URL, or nothing, as %XX. A "/" stays if `path`.
std::string url_escaped(std::string_view text, bool path);

}  // namespace bert
