#include "hub/http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <initializer_list>

#include "base/parse.h"
#include "hub/url.h"
#include "io/hub_cache.h"

namespace bert {
namespace {

constexpr int kMostRedirects = 10;
constexpr size_t kLongestDropped = 1 << 20;  // bytes of a body that nobody reads
constexpr size_t kLongestHead = 256 << 10;   // bytes, with those of answers 1xx and of trailers

using Headers = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;

void add(Headers& headers, const std::string& line) {
  curl_slist* all = curl_slist_append(headers.get(), line.c_str());
  if (!all) throw std::bad_alloc();
  [[maybe_unused]] curl_slist* const same = headers.release();
  headers.reset(all);
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// What is wrong with the connection itself.
bool is_unreachable(int code) {
  constexpr int kCodes[] = {CURLE_COULDNT_RESOLVE_PROXY,
                            CURLE_COULDNT_RESOLVE_HOST,
                            CURLE_COULDNT_CONNECT,
                            CURLE_SSL_CONNECT_ERROR,
                            CURLE_SSL_ENGINE_NOTFOUND,
                            CURLE_SSL_ENGINE_SETFAILED,
                            CURLE_SSL_CERTPROBLEM,
                            CURLE_SSL_CIPHER,
                            CURLE_PEER_FAILED_VERIFICATION,
                            CURLE_SSL_CACERT_BADFILE,
                            CURLE_SSL_CRL_BADFILE,
                            CURLE_SSL_ISSUER_ERROR,
                            CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                            CURLE_SSL_INVALIDCERTSTATUS,
                            CURLE_PROXY};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

/// What may be otherwise the next time, once the server was reached.
bool may_pass(int code) {
  constexpr int kCodes[] = {
      CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT, CURLE_GOT_NOTHING,
      CURLE_SEND_ERROR,   CURLE_RECV_ERROR,         CURLE_HTTP2,
      CURLE_HTTP2_STREAM, CURLE_COULDNT_CONNECT,    CURLE_COULDNT_RESOLVE_HOST};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

/// Whether a MiB of memory can be had.
bool memory_is_left() {
  void* volatile block = std::malloc(1 << 20);
  std::free(block);
  return block != nullptr;
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

/// One request and its answer, for the functions that libcurl calls. No exception may pass through
/// libcurl.
struct Http::Transfer {
  using Clock = std::chrono::steady_clock;

  HttpResponse response;
  const HttpRequest& request;
  const Body& body;
  std::chrono::seconds longest_drop;
  size_t head = 0, dropped = 0;
  Clock::time_point first_drop = {};
  bool enough = false;  ///< the rest of a body that nobody reads is not waited for
  std::exception_ptr exception = nullptr;

  template <typename Function>
  size_t guarded(size_t size, const Function& function) {
    try {
      function();
      return size;
    } catch (...) {
      exception = std::current_exception();
      return size == 0 ? 1 : 0;  // libcurl ends the transfer
    }
  }

  void take_header(std::string_view line) {
    head += line.size();
    if (head > kLongestHead) {
      throw Error(Error::Kind::protocol, request.where,
                  fmt::format("{}: found more than {} bytes of headers", shown_url(response.url),
                              kLongestHead));
    }
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      response.headers.clear();
      line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
      response.status = take_number<long>(line).value_or(0);
      return;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) return;
    const size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    const size_t end = line.find_last_not_of(" \t") + 1;
    response.headers[lower(std::string(line.substr(0, colon)))] =
        line.substr(begin, std::max(begin, end) - begin);
  }

  /// False if the body is too long, or takes too long.
  bool drop(size_t bytes) {
    if (dropped == 0) first_drop = Clock::now();
    dropped += bytes;
    enough = dropped > kLongestDropped || Clock::now() - first_drop > longest_drop;
    return !enough;
  }

  static size_t on_header(char* bytes, size_t one, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    return transfer->guarded(one * count, [&] { transfer->take_header({bytes, one * count}); });
  }

  static size_t on_body(char* bytes, size_t one, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    const long status = transfer->response.status;
    if (status != 200 && status != 206) {
      return transfer->drop(one * count) ? one * count : 0;
    }
    return transfer->guarded(one * count, [&] {
      transfer->body(transfer->response, {bytes, one * count});
    });
  }
};

Http::Http(const HubSettings& settings, const std::string& user_agent)
    : origin_(origin_of(settings.endpoint)),
      timeout_(settings.timeout),
      schemes_(origin_.starts_with("http:") ? "http,https" : "https") {
  if (!settings.token.empty()) authorization_ = "Authorization: Bearer " + settings.token;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  curl_ = curl_easy_init();
  if (!curl_) throw Error(Error::Kind::no_memory, "libcurl", "cannot start");
  curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, schemes_.c_str());
  curl_easy_setopt(curl_, CURLOPT_USERAGENT, user_agent.c_str());
  curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, settings.timeout);
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, 100L);  // bytes a second
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, settings.timeout);
  curl_easy_setopt(curl_, CURLOPT_BUFFERSIZE, 1L << 18);
  curl_easy_setopt(curl_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, message_);
  curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, Transfer::on_header);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, Transfer::on_body);
  // The variables that OpenSSL's own programs, Python and curl read.
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    if (const auto file = environment(name)) curl_easy_setopt(curl_, CURLOPT_CAINFO, file->c_str());
  }
  if (const auto directory = environment("SSL_CERT_DIR")) {
    curl_easy_setopt(curl_, CURLOPT_CAPATH, directory->c_str());
  }
}

Http::~Http() { curl_easy_cleanup(curl_); }

void Http::fail(int code, const HttpRequest& request) {
  long through_proxy = 0;
  curl_off_t connected = 0;
  curl_easy_getinfo(curl_, CURLINFO_HTTP_CONNECTCODE, &through_proxy);
  curl_easy_getinfo(curl_, CURLINFO_PRETRANSFER_TIME_T, &connected);
  std::string words = *message_ ? message_ : curl_easy_strerror(static_cast<CURLcode>(code));
  if (code == CURLE_OUT_OF_MEMORY || words.starts_with("Out of memory")) {
    if (!memory_is_left()) throw Error(Error::Kind::no_memory, request.where, words);
    words = "found a header line that is too long";  // libcurl's buffer for it has a limit
    code = CURLE_WEIRD_SERVER_REPLY;
  }
  const bool unreachable = is_unreachable(code) || through_proxy >= 400 ||
                           (code == CURLE_OPERATION_TIMEDOUT && connected == 0);
  const std::string what =
      fmt::format("{}: {}: {}", shown_url(request.url),
                  unreachable ? "cannot connect" : "the transfer failed", words);
  if (may_pass(code) && (reached_ || !unreachable)) {
    throw Interruption(unreachable ? Error::Kind::unavailable : Error::Kind::try_again,
                       request.where, what);
  }
  throw Error(unreachable ? Error::Kind::unavailable : Error::Kind::protocol, request.where, what);
}

void Http::perform(const HttpRequest& request, Transfer& transfer) {
  Headers headers(nullptr, curl_slist_free_all);
  add(headers, "Accept-Encoding: identity");
  if (!authorization_.empty() && origin_of(request.url) == origin_) add(headers, authorization_);
  if (request.from > 0) {
    add(headers, fmt::format("Range: bytes={}-", request.from));
    if (!request.if_range.empty()) add(headers, "If-Range: " + request.if_range);
  }
  transfer.response.url = request.url;
  *message_ = '\0';
  curl_easy_setopt(curl_, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = curl_easy_perform(curl_);
  if (transfer.exception) std::rethrow_exception(transfer.exception);
  if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && transfer.enough)) fail(code, request);
  reached_ = true;
  transfer.response.retry_after = wanted_wait(transfer.response);
}

/// Retry-After, or the rest of the window in which the hub counts requests: `"api";r=0;t=55`.
std::optional<uint64_t> Http::wanted_wait(const HttpResponse& response) const {
  curl_off_t seconds = 0;
  const bool given = curl_easy_getinfo(curl_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK &&
                     !response.header("retry-after").empty();
  if (given && seconds >= 0) return static_cast<uint64_t>(seconds);
  for (std::string_view item : split(response.header("ratelimit"), ';')) {
    if (response.status != 429 || !item.starts_with("t=")) continue;
    return to_number<uint64_t>(item.substr(2));
  }
  return std::nullopt;
}

std::string Http::next_url(const HttpRequest& request, const HttpResponse& response) {
  const char* url = nullptr;
  curl_easy_getinfo(curl_, CURLINFO_REDIRECT_URL, &url);
  const std::string origin = url ? origin_of(url) : "";
  if (origin.empty() || (origin.starts_with("http:") && schemes_ == "https") ||
      (origin.starts_with("http:") && response.url.starts_with("https:"))) {
    throw Error(Error::Kind::protocol, request.where,
                fmt::format("{} redirects to {}, wants https://HOST", shown_url(response.url),
                            printable(shown_url(url ? url : response.header("location")))));
  }
  return url;
}

HttpResponse Http::get(const HttpRequest& request, const Body& body) {
  HttpRequest step = request;
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    Transfer transfer{{}, step, body, timeout_};
    perform(step, transfer);
    HttpResponse& response = transfer.response;
    if (!is_redirect(response.status)) return response;
    step.url = next_url(request, response);
  }
  throw Error(Error::Kind::protocol, request.where,
              fmt::format("more than {} redirects", kMostRedirects));
}

}  // namespace bert
