// The hub's list of files, and files of the hub that say which others are wanted: whatever they
// hold, the files to load lie in the model's directory, and have hashes that are names.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "hub/listing.h"
#include "hub/selection.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_hash(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Kind = bert::Error::Kind;
  // The list, and behind a form feed the content of each small file.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\f'), text.size());
  bert::Listing listing;
  try {
    listing = bert::parse_listing(text.substr(0, end), bert::ModelName{"org/fuzz"});
  } catch (const bert::Error& error) {
    require(error.kind() == Kind::protocol);
    return 0;
  }
  require(listing.commit.size() == 40 && is_hash(listing.commit));
  try {
    const std::string content = text.substr(std::min(end + 1, text.size()));
    const auto read = [&](const bert::RemoteFile&) { return content; };
    const bert::ModelName model{"org/fuzz"};
    for (const bert::RemoteFile& file : bert::select_files(listing, model, read).files) {
      const std::filesystem::path path(file.path);
      require(path.is_relative() && path.lexically_normal() == path);
      require(*path.begin() != ".." && is_hash(file.hash));
    }
  } catch (const bert::Error& error) {
    require(error.kind() == Kind::data || error.kind() == Kind::unsupported);
  }
  return 0;
}
