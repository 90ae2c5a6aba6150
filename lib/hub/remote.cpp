#include "hub/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "hub/url.h"

namespace bert {
namespace {

constexpr size_t kLongestList = 64 << 20;  // bytes
constexpr int kMostFailures = 5;
constexpr uint64_t kLongestWait = 300, kToldWait = 5;  // seconds

void refuse_encoding(const HttpResponse& response, const std::string& where) {
  const std::string encoding = response.header("content-encoding");
  if (encoding.empty() || encoding == "identity") return;
  throw Error(
      Error::Kind::protocol, where,
      fmt::format("found the encoding {}, wants the bytes as they are", printable(encoding)));
}

bool is_busy(long status) { return status == 408 || status == 429 || status >= 500; }

}  // namespace

void Patience::wait(const Interruption& failure, bool progress) {
  failures_ = progress ? 1 : failures_ + 1;
  if (failures_ > kMostFailures || failure.wait().value_or(0) > kLongestWait) throw failure;
  const double seconds = failure.wait() ? static_cast<double>(*failure.wait())
                                        : 0.25 * static_cast<double>(1 << (failures_ - 1));
  if (seconds >= kToldWait) {
    notice_(fmt::format("{}; the next try is in {:.0f} s", failure.what(), seconds));
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void Remote::refuse_access(const HttpResponse& response, const ModelName& model) const {
  const std::string page = shown_url(settings_.endpoint) + "/" + model.name;
  const bool token = !settings_.token.empty();
  std::string what;
  if (response.header("x-error-code") == "GatedRepo") {
    what = fmt::format("is gated: accept its terms at {}{}", page,
                       token ? "" : ", then set HF_TOKEN to your token");
  } else if (response.status == 401 && token) {
    what = "the hub refuses the token (HF_TOKEN)";
  } else if (response.status == 401) {
    what = "no such model, or a private one: set HF_TOKEN to a token that may read it";
  } else {
    what = fmt::format("may not be read{}", token ? " with this token (HF_TOKEN)" : "");
  }
  throw Error(Error::Kind::permission, model.text(),
              fmt::format("{} (status {})", what, response.status));
}

void Remote::check(const HttpResponse& response, const ModelName& model,
                   const std::string& file) const {
  const long status = response.status;
  const std::string where = file.empty() ? model.text() : model.text() + ": " + file;
  const std::string host = shown_url(response.url);
  if (status == 200 || (status == 206 && !file.empty()) || (status == 416 && !file.empty())) return;
  if (status == 401 || status == 403) refuse_access(response, model);
  if (status == 404 || status == 410) {
    const bool revision = response.header("x-error-code") == "RevisionNotFound";
    throw Error(Error::Kind::no_input, where,
                fmt::format("{} at {} (status {})",
                            !file.empty() ? "no such file"
                            : revision    ? "no such revision of this model"
                                          : "no such model or revision",
                            shown_url(settings_.endpoint), status));
  }
  if (is_busy(status)) {
    const std::string wait =
        response.retry_after ? fmt::format(", and asks to wait {} s", *response.retry_after) : "";
    throw Interruption(Error::Kind::try_again, where,
                       fmt::format("{} is busy or broken (status {}){}", host, status, wait),
                       response.retry_after);
  }
  if (status == 407) {
    throw Error(Error::Kind::unavailable, where, "the proxy wants a password (status 407)");
  }
  throw Error(Error::Kind::protocol, where,
              fmt::format("{} answers with status {}, wants 200", host, status));
}

Listing Remote::list(const ModelName& model) {
  HttpRequest request;
  request.where = model.text();
  request.url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint,
                            model.name, url_escaped(model.revision, false));
  for (Patience patience(notice_);;) {
    try {
      std::string text;
      const HttpResponse response =
          http_.get(request, [&](const HttpResponse& answer, std::string_view bytes) {
            refuse_encoding(answer, request.where);
            if (text.size() + bytes.size() > kLongestList) {
              throw Error(Error::Kind::protocol, model.text(),
                          fmt::format("found a list of files of more than {} bytes", kLongestList));
            }
            text += bytes;
          });
      check(response, model, "");
      return parse_listing(text, model);
    } catch (const Interruption& failure) {
      patience.wait(failure, false);
    }
  }
}

HttpResponse Remote::get(const ModelName& model, const std::string& commit, const RemoteFile& file,
                         HttpRequest request, const Http::Body& body) {
  request.where = model.text() + ": " + file.path;
  request.url = fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, model.name, commit,
                            url_escaped(file.path, true));
  HttpResponse response =
      http_.get(request, [&](const HttpResponse& answer, std::string_view bytes) {
        refuse_encoding(answer, request.where);
        body(answer, bytes);
      });
  check(response, model, file.path);
  return response;
}

}  // namespace bert
