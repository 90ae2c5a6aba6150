#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "hub/digest.h"

namespace bert {

/// Which model is wanted: NAME[@REVISION], where REVISION is a branch, a tag or a commit.
struct ModelName {
  std::string name;
  std::string revision = "main";

  /// Throws Error(usage).
  static ModelName parse(const std::string& text);
  /// As the user wrote it.
  std::string text() const { return revision == "main" ? name : name + "@" + revision; }
};

struct RemoteFile {
  std::string path;  ///< below the model's directory, see is_safe_path
  uint64_t size = 0;
  Digest::Kind kind = Digest::Kind::sha256;
  std::string hash;  ///< in hexadecimal; the name of its blob in the cache
};

/// The files of one commit.
struct Listing {
  std::string commit;  ///< 40 hexadecimal digits
  std::map<std::string, RemoteFile> files;
};

/// Whether `path` stays below its directory and is one line: no "..", no empty part, no "\".
bool is_safe_path(std::string_view path);

/// What the hub answers to /api/models/NAME/revision/REVISION?blobs=true. Throws Error(protocol)
/// for another text, and for paths that are not safe.
Listing parse_listing(const std::string& text, const ModelName& model);

}  // namespace bert
