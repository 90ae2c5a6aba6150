#include "hub/pull.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "directory/find_model.h"
#include "directory/model_files.h"
#include "hub/partial.h"
#include "io/mapped_file.h"
#include "io/output_file.h"

namespace bert {
namespace {

constexpr int kMostRestarts = 3;
constexpr double kSlowest = 100;                // bytes a second that count as progress
constexpr uint64_t kLargestRead = 64ull << 20;  // bytes of a file that names other files

using Clock = std::chrono::steady_clock;

/// The answer does not go on from the bytes that are there.
struct OtherBytes {};

/// Prepares for a body: whether it begins where it was asked to, or at the first byte. Throws
/// Error(protocol) for a size that is not that of the file, and OtherBytes.
void begin_body(const HttpResponse& response, const RemoteFile& file, Partial& partial,
                const std::string& where) {
  if (response.status == 206) {
    const std::string range = response.header("content-range"), etag = response.header("etag");
    const bool same_etag = etag.empty() || partial.etag().empty() || etag == partial.etag();
    if (partial.size() == 0 || !same_etag ||
        !range.starts_with(fmt::format("bytes {}-", partial.size())) ||
        !range.ends_with(fmt::format("/{}", file.size))) {
      throw OtherBytes();
    }
    return;
  }
  if (partial.size() > 0) partial.restart();  // the server has sent all
  const std::string length = response.header("content-length");
  const auto size = to_number<uint64_t>(std::string_view(length));
  if (!length.empty() && size != file.size) {
    throw Error(Error::Kind::protocol, where,
                fmt::format("found {} bytes, wants {}", printable(length), file.size));
  }
}

std::string hash_of(const std::string& path, const RemoteFile& file) {
  Digest digest(file.kind, file.size);
  digest.add(MappedFile::open(path).text());
  return digest.finish();
}

[[noreturn]] void refuse_more(const std::string& where, const RemoteFile& file) {
  throw Error(Error::Kind::protocol, where, fmt::format("found more than {} bytes", file.size));
}

void check_hash(const std::string& hash, const std::string& where, const RemoteFile& file) {
  if (hash == file.hash) return;
  throw Error(Error::Kind::protocol, where,
              fmt::format("found bytes of hash {}, wants {}", hash, file.hash));
}

}  // namespace

/// One model on its way.
struct Puller::Job {
  const ModelName& model;
  ModelCache cache;
  bool stores = true;  ///< what is read goes into the cache
  Listing listing = {};
  uint64_t done = 0, total = 0;  ///< bytes that were missing

  std::string where(const RemoteFile& file) const { return model.text() + ": " + file.path; }
};

void Puller::refuse_offline(const ModelName& model) const {
  if (settings_.offline.empty()) return;
  throw Error(Error::Kind::unavailable, model.text(),
              fmt::format("cannot be downloaded, since {} is set", settings_.offline));
}

std::string Puller::read(Job& job, const RemoteFile& file) {
  if (file.size > kLargestRead) {
    throw Error(Error::Kind::data, job.where(file),
                fmt::format("{} bytes, wants at most {}", file.size, kLargestRead));
  }
  std::string path = job.cache.find(job.listing.commit, file);
  if (path.empty() && job.stores) {
    job.total += file.size;
    fetch(job, file);
    path = job.cache.blob(file);
  }
  if (!path.empty()) return std::string(MappedFile::open(path).text());
  std::string text;
  remote_.get(job.model, job.listing.commit, file, {},
              [&](const HttpResponse&, std::string_view bytes) {
                if (text.size() + bytes.size() > file.size) refuse_more(job.where(file), file);
                text += bytes;
              });
  Digest digest(file.kind, file.size);
  digest.add(text);
  check_hash(digest.finish(), job.where(file), file);
  return text;
}

Selection Puller::select(Job& job) {
  job.listing = remote_.list(job.model);
  return select_files(job.listing, job.model,
                      [&](const RemoteFile& file) { return read(job, file); });
}

std::vector<PulledFile> Puller::list(const ModelName& model) {
  refuse_offline(model);
  std::vector<PulledFile> files;
  const auto add = [&](const Job& job, const Selection& selection, const std::string& before) {
    for (RemoteFile file : selection.files) {
      const bool cached = !job.cache.find(job.listing.commit, file).empty();
      file.path.insert(0, before);
      files.push_back({std::move(file), cached});
    }
  };
  Job job{model, ModelCache(settings_.cache, model.name), false};
  const Selection selection = select(job);
  add(job, selection, "");
  if (selection.encoder.empty()) return files;
  const ModelName encoder = ModelName::parse(selection.encoder);
  Job other{encoder, ModelCache(settings_.cache, encoder.name), false, remote_.list(encoder)};
  add(other, select_tokenizer(other.listing), encoder.name + "/");
  return files;
}

void Puller::discard_wrong(const Job& job, const std::vector<RemoteFile>& files) const {
  for (const RemoteFile& file : files) {
    const std::string path = job.cache.find(job.listing.commit, file);
    if (path.empty() || hash_of(path, file) == file.hash) continue;
    events_.notice(job.where(file) + ": its bytes in the cache are wrong, so it is loaded again");
    job.cache.discard(job.listing.commit, file);
  }
}

/// Refuses before the first byte. What earlier pulls left counts as free, since it goes.
void Puller::check_room(const Job& job, const std::vector<RemoteFile>& missing) const {
  uint64_t wanted = 0;
  struct statvfs status;
  if (statvfs(job.cache.blobs().c_str(), &status) != 0 || status.f_blocks == 0) return;
  uint64_t free = static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
  for (const RemoteFile& file : missing) {
    wanted += file.size;
    free += Partial::bytes_of(job.cache.blobs(), file.hash);
  }
  if (free >= wanted) return;
  throw Error(Error::Kind::io, settings_.cache,
              fmt::format("found {} bytes free, wants {} for {}", free, wanted, job.model.text()));
}

/// Whether the tools find this model, with a tokenizer. A newer one of it is no reason to replace
/// it.
static bool brings_tokenizer(const std::string& name) {
  try {
    return !tokenizer_files(ModelDirectory(resolve_model(name))).empty();
  } catch (const Error&) {
    return false;
  }
}

std::string Puller::pull(const ModelName& model, bool verify) {
  refuse_offline(model);
  Job job{model, ModelCache(settings_.cache, model.name)};
  const Selection selection = select(job);
  if (!selection.encoder.empty() && !brings_tokenizer(selection.encoder)) {
    const ModelName encoder = ModelName::parse(selection.encoder);
    events_.notice(fmt::format("{}: takes the tokenizer of {}, which is downloaded, too",
                               model.text(), encoder.name));
    Job other{encoder, ModelCache(settings_.cache, encoder.name), true, remote_.list(encoder)};
    load(other, select_tokenizer(other.listing), verify);
  }
  load(job, selection, verify);
  return job.cache.snapshot(job.listing.commit);
}

/// All of the selection that is missing.
void Puller::load(Job& job, const Selection& selection, bool verify) {
  for (const std::string& text : selection.notices) events_.notice(text);
  if (verify) discard_wrong(job, selection.files);

  std::vector<RemoteFile> missing;
  std::set<std::string> hashes;
  for (const RemoteFile& file : selection.files) {
    if (!job.cache.find(job.listing.commit, file).empty()) continue;
    if (hashes.insert(file.hash).second) missing.push_back(file);
  }
  if (!missing.empty()) {
    job.cache.prepare();
    check_room(job, missing);
    for (const RemoteFile& file : missing) job.total += file.size;
    for (const RemoteFile& file : missing) fetch(job, file);
  }
  job.cache.link(job.listing.commit, selection.files);
  job.cache.write_ref(job.model.revision, job.listing.commit);
}

/// Asks once for the bytes that are not there yet.
void Puller::request_rest(const Job& job, const RemoteFile& file, Partial& partial) {
  const std::string where = job.where(file);
  bool begun = false;
  const auto take = [&](const HttpResponse& response, std::string_view bytes) {
    if (!begun) begin_body(response, file, partial, where);
    begun = true;
    if (partial.size() + bytes.size() > file.size) refuse_more(where, file);
    partial.write(bytes, response.header("etag"));
    events_.progress(file.path, job.done + partial.size(), job.total);
  };
  HttpRequest request;
  request.from = partial.size();
  request.if_range = partial.etag();
  const HttpResponse response = remote_.get(job.model, job.listing.commit, file, request, take);
  if (response.status == 416) throw OtherBytes();
  if (partial.size() == file.size) return;
  throw Interruption(
      Error::Kind::try_again, where,
      fmt::format("the transfer ended after {} of {} bytes", partial.size(), file.size));
}

/// Goes on until all bytes are there, through interruptions.
void Puller::receive(const Job& job, const RemoteFile& file, Partial& partial) {
  Patience patience(events_.notice);
  uint64_t most = partial.size();
  auto since = Clock::now();
  for (int restarts = 0; partial.size() < file.size;) {
    try {
      request_rest(job, file, partial);
    } catch (const OtherBytes&) {
      partial.restart();
      if (++restarts < kMostRestarts) continue;
      throw Error(Error::Kind::protocol, job.where(file), "found other bytes than were asked for");
    } catch (const Interruption& failure) {
      // A server that gives a byte a try, after each wait, would never end.
      const auto now = Clock::now();
      const double seconds = std::chrono::duration<double>(now - since).count();
      const bool progress =
          static_cast<double>(partial.size()) > static_cast<double>(most) + kSlowest * seconds;
      if (progress) most = partial.size(), since = now;
      patience.wait(failure, progress);
    }
  }
}

/// Downloads one file into its blob.
void Puller::fetch(Job& job, const RemoteFile& file) {
  job.cache.prepare();
  const std::string path = job.cache.blob(file);
  const DownloadLock lock(job.cache.lock(file), [&] {
    events_.notice(job.where(file) + ": waiting for another process that downloads it");
  });
  for (int tries = 1; job.cache.find(job.listing.commit, file).empty(); ++tries) {
    if (tries > kMostRestarts) throw Error(Error::Kind::io, path, "disappears while it is made");
    Partial partial(job.cache.blobs(), file);
    try {
      receive(job, file, partial);
      const std::string hash = partial.finish();
      if (hash != file.hash && tries == 1) {
        Partial::remove_all(job.cache.blobs(), file.hash);  // the bytes may come from there
        continue;
      }
      check_hash(hash, job.where(file), file);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::protocol) {
        Partial::remove_all(job.cache.blobs(), file.hash);
      }
      throw;
    }
    if (partial.commit(path)) sync_directory(job.cache.blobs());
  }
  job.done += file.size;
}

}  // namespace bert
