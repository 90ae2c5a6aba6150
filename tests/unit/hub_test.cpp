#include <doctest/doctest.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "base/error.h"
#include "directory/file_names.h"
#include "hub/digest.h"
#include "hub/listing.h"
#include "hub/selection.h"
#include "hub/url.h"
#include "io/hub_cache.h"

using namespace bert;

namespace {

std::string hash(Digest::Kind kind, const std::string& text) {
  Digest digest(kind, text.size());
  for (const char c : text) digest.add({&c, 1});
  return digest.finish();
}

Listing listing_of(const std::vector<std::string>& paths) {
  Listing listing;
  for (const std::string& path : paths) {
    listing.files[path] = {path, 2, Digest::Kind::git_sha1, std::string(40, '0')};
  }
  return listing;
}

std::vector<std::string> selected(const Listing& listing, const std::string& content) {
  std::vector<std::string> paths;
  const auto read = [&](const RemoteFile& file) -> std::string {
    if (file.path == file_names::kAdapter) return R"({"peft_type": "LORA"})";
    return file.path == file_names::kRouter ? "{}" : content;
  };
  for (const RemoteFile& file : select_files(listing, ModelName{"x"}, read).files) {
    paths.push_back(file.path);
  }
  return paths;
}

}  // namespace

TEST_CASE("hashes are those of sha256sum and git hash-object") {
  CHECK(hash(Digest::Kind::sha256, "") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash(Digest::Kind::sha256, "abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash(Digest::Kind::git_sha1, "") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  CHECK(hash(Digest::Kind::git_sha1, "hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST_CASE("an origin is scheme, host and port") {
  CHECK(origin_of("https://huggingface.co/x?y") == "https://huggingface.co:443");
  CHECK(origin_of("HTTPS://User:Pw@HuggingFace.CO:443") == "https://huggingface.co:443");
  CHECK(origin_of("https://huggingface.co:444") != origin_of("https://huggingface.co"));
  CHECK(origin_of("http://huggingface.co") != origin_of("https://huggingface.co"));
  CHECK(origin_of("https://huggingface.co.evil.org") != origin_of("https://huggingface.co"));
  CHECK(origin_of("https://huggingface.co@evil.org") == "https://evil.org:443");
  CHECK(origin_of("http://[::1]:80/") == "http://[::1]:80");
  for (const char* none : {"", "huggingface.co", "file:///etc", "ftp://x", "https://", "http:x"}) {
    CHECK_MESSAGE(origin_of(none).empty(), none);
  }
}

TEST_CASE("a URL in a message has no secret") {
  CHECK(shown_url("https://u:secret@h/p/q?Signature=secret#secret") == "https://h/p/q");
  CHECK(shown_url("https://h/") == "https://h");
  CHECK(shown_url("not a url:secret@h?secret").find("secret") == std::string::npos);
}

TEST_CASE("paths and revisions in URLs are escaped") {
  CHECK(url_escaped("a b/c%?#é", true) == "a%20b/c%25%3F%23%C3%A9");
  CHECK(url_escaped("refs/pr/1", false) == "refs%2Fpr%2F1");
}

TEST_CASE("names of the hub") {
  for (const char* good : {"bert-base-uncased", "org/name", "a", "Org_1/a.b-c", "0/0"}) {
    CHECK_MESSAGE(is_hub_name(good), good);
  }
  for (const char* bad : {"", "/", "a/", "/a", "a/b/c", "-a", "a-", ".a", "a.", "a--b", "a..b",
                          "x.git", "a b", "é", "a\n", "a/-b"}) {
    CHECK_MESSAGE(!is_hub_name(bad), bad);
  }
  CHECK(is_hub_name(std::string(96, 'a')));
  CHECK(!is_hub_name(std::string(97, 'a')));
  CHECK(hub_folder("org/name") == "models--org--name");
  CHECK(ModelName::parse("org/name@refs/pr/1").revision == "refs/pr/1");
  CHECK(ModelName::parse("name").revision == "main");
}

TEST_CASE("paths in variables name other variables") {
  setenv("HUB_TEST_PLACE", "/place", 1);
  CHECK(expanded_path("$HUB_TEST_PLACE/x") == "/place/x");
  CHECK(expanded_path("a${HUB_TEST_PLACE}b") == "a/placeb");
  CHECK(expanded_path("~/x") == std::string(getenv("HOME")) + "/x");
  for (const char* same : {"", "$", "${", "${}", "$HUB_TEST_NONE/x", "${HUB_TEST_PLACE", "a~/x"}) {
    CHECK(expanded_path(same) == same);
  }
}

TEST_CASE("a pull takes all that the tools read, and no other files") {
  std::vector<std::string> paths = {"model.safetensors", "2_Dense/model.safetensors",
                                    "2_Dense/config.json"};
  for (const ModelFile& file : kModelFiles) {
    if (!use_of(file.role).pulled || file.name == file_names::kModules) continue;
    CHECK(std::find(paths.begin(), paths.end(), file.name) == paths.end());
    paths.emplace_back(file.name);
  }
  Listing listing = listing_of(paths);
  paths.push_back("modules.json");
  const size_t wanted = listing.files.size() + 1;
  listing = listing_of(paths);
  for (const char* other :
       {"README.md", "pytorch_model.bin", "onnx/config.json", "tf_model.h5",
        "model.fp16.safetensors", "model.safetensors.index.json", "3_X/config.json"}) {
    listing.files[other] = {other, 2, Digest::Kind::git_sha1, std::string(40, '0')};
  }
  CHECK(selected(listing, R"([{"path":""},{"path":"2_Dense"}])").size() == wanted);
}

TEST_CASE("weights are those that the tools would take") {
  const std::string index = R"({"weight_map":{"a":"s1","b":"s2","c":"s1"}})";
  const auto paths = [&](const std::vector<std::string>& files) {
    std::vector<std::string> all = files;
    all.push_back("config.json");
    std::vector<std::string> found = selected(listing_of(all), index);
    found.erase(found.begin());  // config.json
    return found;
  };
  using Paths = std::vector<std::string>;
  const std::string safe = "model.safetensors", pickle = "pytorch_model.bin", end = ".index.json";
  CHECK(paths({safe, safe + end, pickle, "s1", "s2"}) == Paths{safe});
  CHECK(paths({safe + end, pickle, "s1", "s2", "s3"}) == Paths{safe + end, "s1", "s2"});
  CHECK(paths({pickle, pickle + end, "s1", "s2"}) == Paths{pickle});
  CHECK(paths({pickle + end, "s1", "s2"}) == Paths{pickle + end, "s1", "s2"});
  CHECK_THROWS_AS(paths({safe + end, pickle, "s1"}), Error);
}
