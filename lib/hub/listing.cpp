#include "hub/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "io/hub_cache.h"
#include "io/json.h"

namespace bert {
namespace {

constexpr size_t kShaSize = 40, kSha256Size = 64;  // digits

bool is_hash(std::string_view text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == text.npos;
}

[[noreturn]] void refuse(const Json& value, std::string_view wanted) {
  throw Error(Error::Kind::protocol, value.where(),
              fmt::format("found {}, wants {}", value.describe(), wanted));
}

uint64_t size_at(const Json& file, std::string_view key) {
  const Json value = file.at(key);
  const auto size = value.try_int();
  if (!size || *size < 0) refuse(value, "a number of bytes");
  return static_cast<uint64_t>(*size);
}

std::string hash_at(const Json& file, std::string_view key, size_t size) {
  const Json value = file.at(key);
  if (!is_hash(value.as_string(), size)) refuse(value, fmt::format("{} hexadecimal digits", size));
  return std::string(value.as_string());
}

RemoteFile read_file(const Json& entry) {
  RemoteFile file;
  const Json path = entry.at("rfilename");
  file.path = path.as_string();
  if (!is_safe_path(file.path)) refuse(path, "the path of a file in the model's directory");
  const auto lfs = entry.find("lfs");
  if (lfs && lfs->is_object()) {
    file.size = size_at(*lfs, "size");
    file.hash = hash_at(*lfs, "sha256", kSha256Size);
  } else {
    file.kind = Digest::Kind::git_sha1;
    file.size = size_at(entry, "size");
    file.hash = hash_at(entry, "blobId", kShaSize);
  }
  return file;
}

Listing read_listing(const Json& root) {
  Listing listing;
  listing.commit = hash_at(root, "sha", kShaSize);
  root.at("siblings").for_each_element([&](Json entry) {
    RemoteFile file = read_file(entry);
    const std::string path = file.path;
    if (!listing.files.emplace(path, std::move(file)).second) {
      refuse(entry.at("rfilename"), "each file once");
    }
  });
  return listing;
}

}  // namespace

ModelName ModelName::parse(const std::string& text) {
  ModelName model;
  const size_t at = text.find('@');
  model.name = text.substr(0, at);
  if (at != std::string::npos) model.revision = text.substr(at + 1);
  if (!is_hub_name(model.name)) {
    throw Error(Error::Kind::usage, "",
                fmt::format("found '{}', wants NAME or ORGANISATION/NAME, as the hub names models",
                            printable(model.name)));
  }
  if (!is_safe_path(model.revision)) {
    throw Error(Error::Kind::usage, model.name,
                fmt::format("found revision '{}', wants a branch, a tag or a commit",
                            printable(model.revision)));
  }
  return model;
}

bool is_safe_path(std::string_view path) {
  constexpr size_t kLongestPath = 1024, kLongestPart = 200;
  const auto odd = [](unsigned char c) { return c < ' ' || c == 0x7F || c == '\\'; };
  if (path.size() > kLongestPath || std::any_of(path.begin(), path.end(), odd)) return false;
  const auto parts = split(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == ".." || part.size() > kLongestPart;
  });
}

Listing parse_listing(const std::string& text, const ModelName& model) {
  const std::string where = model.text() + ": the hub's list of files";
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '<') {
    throw Error(Error::Kind::protocol, where,
                "found a page of HTML, wants JSON; does a proxy or a login page stand between?");
  }
  Listing listing;
  try {
    listing = read_listing(JsonDocument::parse(text, where).root());
  } catch (const Error& error) {
    throw Error(Error::Kind::protocol, "", error.what());
  }
  if (is_hash(model.revision, kShaSize) && listing.commit != model.revision) {
    throw Error(Error::Kind::protocol, where, fmt::format("found commit {}", listing.commit));
  }
  return listing;
}

}  // namespace bert
