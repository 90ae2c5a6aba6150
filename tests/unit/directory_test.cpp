// Model directories: what they hold, and that each file is read once.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "directory/file_names.h"
#include "directory/model_directory.h"
#include "golden.h"
#include "io/json.h"
#include "temporary.h"

using namespace bert;
using bert::test::golden_model;
using bert::test::TemporaryDirectory;

TEST_CASE("what a directory holds") {
  using Kind = ModelDirectory::Kind;
  const auto kind = [](const char* name) { return ModelDirectory(golden_model(name)).kind(); };
  for (const char* name : {"tiny-bert", "st-dense", "modernbert", "sharded", "colbert-stanford"}) {
    CHECK_MESSAGE(kind(name) == Kind::encoder, name);
  }
  for (const char* name : {"static-embedding", "static-model2vec", "static-shared"}) {
    CHECK_MESSAGE(kind(name) == Kind::static_vectors, name);
  }
  CHECK(kind("marian") == Kind::transformer);
  CHECK(kind("bert2bert") == Kind::encoder_decoder);
  const TemporaryDirectory recurrent, none;
  recurrent.add("config.json", R"({"model_type": "recurrent-seq2seq"})");
  CHECK(ModelDirectory(recurrent.path()).kind() == Kind::recurrent);
  CHECK(ModelDirectory(recurrent.path()).translates());
  CHECK_THROWS_AS(ModelDirectory(none.path()).kind(), Error);
}

TEST_CASE("a file of a directory is parsed once") {
  const TemporaryDirectory folder;
  const ModelDirectory directory(folder.path());
  CHECK(directory.find("config.json") == nullptr);
  CHECK_THROWS_AS(directory.document("config.json"), Error);
  folder.add("config.json", R"({"a": 1})");
  const JsonDocument* first = directory.find("config.json");
  REQUIRE(first != nullptr);
  folder.add("config.json", "{");
  const ModelDirectory copy = directory;
  std::vector<const JsonDocument*> found(8);
  std::vector<std::thread> threads;
  for (const JsonDocument*& one : found) {
    threads.emplace_back([&] { one = &copy.document("config.json"); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set(found.begin(), found.end()) == std::set{first});
  folder.add("modules.json", "{");
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(directory.document("modules.json"), doctest::Contains("modules.json"),
                         Error);
    folder.add("modules.json", "{}");  // the fault is kept, too
  }
  CHECK(directory.find_sound("modules.json") == nullptr);
}

TEST_CASE("a large file is kept on demand") {
  const TemporaryDirectory folder;
  folder.add("vocab.json", R"({"a": 1})");
  const ModelDirectory directory(folder.path());
  const auto read = [&] { return directory.large_document("vocab.json", 1000, 10); };
  const auto first = read();
  CHECK(first != read());
  const auto kept = directory.keep_large();
  CHECK(read() == read());
}

TEST_CASE("the list names each file once") {
  std::set<std::string_view> names;
  for (const ModelFile& file : kModelFiles)
    CHECK_MESSAGE(names.insert(file.name).second, file.name);
}
