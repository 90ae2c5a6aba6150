#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hub/cache.h"
#include "hub/remote.h"
#include "hub/selection.h"
#include "hub/settings.h"

namespace bert {

/// What a pull tells while it runs. Both functions are set.
struct PullEvents {
  Notice notice;
  /// Bytes that are there, of all that were missing at the start; `file` is on its way.
  std::function<void(const std::string& file, uint64_t done, uint64_t total)> progress;
};

struct PulledFile {
  RemoteFile file;
  bool cached = false;  ///< is in the cache
};

class Partial;

/// Downloads models of the Hugging Face hub into its cache.
class Puller {
 public:
  Puller(const HubSettings& settings, const std::string& user_agent, const PullEvents& events)
      : settings_(settings), events_(events), remote_(settings_, user_agent, events_.notice) {}

  /// The directory of the model, whose files are all there. Asks the hub for the commit, and loads
  /// what is missing. `verify`: also computes the hashes of files that are there already, and
  /// loads those that are wrong again. Throws Error.
  std::string pull(const ModelName& model, bool verify);
  /// The files that pull() would see to.
  std::vector<PulledFile> list(const ModelName& model);

 private:
  struct Job;
  void refuse_offline(const ModelName& model) const;
  Selection select(Job& job);
  void load(Job& job, const Selection& selection, bool verify);
  std::string read(Job& job, const RemoteFile& file);
  void discard_wrong(const Job& job, const std::vector<RemoteFile>& files) const;
  void check_room(const Job& job, const std::vector<RemoteFile>& missing) const;
  void fetch(Job& job, const RemoteFile& file);
  void request_rest(const Job& job, const RemoteFile& file, Partial& partial);
  void receive(const Job& job, const RemoteFile& file, Partial& partial);

  HubSettings settings_;
  PullEvents events_;
  Remote remote_;
};

}  // namespace bert
