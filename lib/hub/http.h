#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/settings.h"

namespace bert {

/// A failure that may pass: a cut connection, a busy server. It is an Error for those who do not
/// try again.
class Interruption : public Error {
 public:
  Interruption(Kind kind, std::string_view where, std::string_view what,
               std::optional<uint64_t> wait = {})
      : Error(kind, where, what), wait_(wait) {}
  /// Seconds that the server asks to wait.
  std::optional<uint64_t> wait() const { return wait_; }

 private:
  std::optional<uint64_t> wait_;
};

struct HttpRequest {
  std::string where;  ///< what is asked for, in messages
  std::string url;
  uint64_t from = 0;     ///< the first byte that is wanted
  std::string if_range;  ///< with `from`: the ETag of the bytes before it; empty: unknown
};

struct HttpResponse {
  long status = 0;
  std::string url;                             ///< that answered, behind all redirects
  std::optional<uint64_t> retry_after;         ///< seconds
  std::map<std::string, std::string> headers;  ///< their names in lower case

  std::string header(const std::string& name) const;
};

/// GET over HTTP. The token goes to the origin of the endpoint alone: a redirect to another host,
/// port or scheme does not get it. Only https is spoken, and http where the endpoint itself is
/// http.
class Http {
 public:
  /// Takes a piece of the body of an answer with status 200 or 206; other bodies are dropped.
  using Body = std::function<void(const HttpResponse&, std::string_view)>;

  Http(const HubSettings& settings, const std::string& user_agent);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  /// The answer, whatever its status; redirects are followed. Throws Interruption; Error:
  /// unavailable if no server is reached, protocol for an answer that HTTP or the rules above do
  /// not allow; and what `body` throws.
  HttpResponse get(const HttpRequest& request, const Body& body);

 private:
  struct Transfer;
  void perform(const HttpRequest& request, Transfer& transfer);
  [[noreturn]] void fail(int code, const HttpRequest& request);
  std::optional<uint64_t> wanted_wait(const HttpResponse& response) const;
  std::string next_url(const HttpRequest& request, const HttpResponse& response);

  void* curl_;              ///< CURL*
  char message_[256] = "";  ///< libcurl's words for the last failure
  std::string origin_, authorization_;
  std::chrono::seconds timeout_;
  std::string schemes_;
  bool reached_ = false;  ///< a server has answered before
};

}  // namespace bert
