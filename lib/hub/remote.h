#pragma once

#include <functional>
#include <string>

#include "hub/http.h"
#include "hub/listing.h"

namespace bert {

using Notice = std::function<void(const std::string&)>;

/// How long a failed request waits for its next try, and how often.
class Patience {
 public:
  explicit Patience(const Notice& notice) : notice_(notice) {}
  /// Waits as long as the server asks, else longer from time to time. Throws `failure` after five
  /// in a row, or if the server asks for more than five minutes. `progress`: enough came since
  /// the last failure.
  void wait(const Interruption& failure, bool progress);

 private:
  const Notice& notice_;
  int failures_ = 0;
};

/// The hub's side: what it answers for a model.
class Remote {
 public:
  Remote(const HubSettings& settings, const std::string& user_agent, const Notice& notice)
      : settings_(settings), http_(settings, user_agent), notice_(notice) {}

  /// The commit of a revision, and its files. Throws Error: no_input if there is no such model or
  /// revision, permission for one that may not be read, unavailable, try_again, protocol.
  Listing list(const ModelName& model);

  /// The bytes of a file from `request.from` on; sets `request.url`. Status 200, 206 or 416. Tries
  /// once; throws as list().
  HttpResponse get(const ModelName& model, const std::string& commit, const RemoteFile& file,
                   HttpRequest request, const Http::Body& body);

 private:
  void check(const HttpResponse& response, const ModelName& model, const std::string& file) const;
  [[noreturn]] void refuse_access(const HttpResponse& response, const ModelName& model) const;

  const HubSettings& settings_;
  Http http_;
  const Notice& notice_;
};

}  // namespace bert
