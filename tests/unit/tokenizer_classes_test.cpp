#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/error.h"
#include "temporary.h"
#include "tokenizer/classes.h"
#include "tokenizer/tokenizer.h"

using namespace bert;

namespace {

const std::string kComposed = std::string(BERT_TESTS_DIR) + "/golden/tokens/composed/";

std::string spell(const Frame& frame) {
  std::string text;
  const auto add = [&](const std::vector<FrameToken>& tokens) {
    for (const FrameToken& t : tokens) text += t.token + ":" + std::to_string(t.type_id) + " ";
  };
  add(frame.before);
  text += "A:" + std::to_string(frame.type_ids[0]) + " ";
  add(frame.between);
  text += "B:" + std::to_string(frame.type_ids[1]) + " ";
  add(frame.after);
  return text;
}

}  // namespace

TEST_CASE("each tokenizer class is a row, found by its name") {
  std::set<std::string> names;
  for (const TokenizerClass& row : tokenizer_classes()) {
    CAPTURE(row.name);
    CHECK(names.insert(std::string(row.name)).second);
    CHECK(find_class(row.name) == &row);
    CHECK(find_class(std::string(row.name) + "Fast") == &row);
  }
  CHECK(find_class("berttokenizer") == nullptr);
  CHECK(class_of_type("xlm-roberta") == find_class("XLMRobertaTokenizer"));
  CHECK(class_of_type("MPNet") == &mpnet_class());
  CHECK(class_of_type("modernbert") == nullptr);
}

TEST_CASE("the frames of classes") {
  SpecialNames names;
  names[Special::cls] = "[CLS]";
  names[Special::sep] = "[SEP]";
  names[Special::eos] = "</s>";
  const auto pair = [&](const TokenizerClass& row) {
    return spell(make_frames(row.frame, names).pair);
  };
  CHECK(pair(bert_class()) == "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1 ");
  CHECK(pair(roberta_class()) == "[CLS]:0 A:0 [SEP]:0 [SEP]:0 B:0 [SEP]:0 ");
  CHECK(pair(marian_class()) == "A:0 B:0 </s>:0 ");
  const Frames marian = make_frames(marian_class().frame, names);
  CHECK(marian.single.before.empty());
  CHECK(marian.single.after.size() == 1);
}

TEST_CASE("a class that is what tokenizer.json says has the tokens of a file without a class") {
  for (const char* composition : {"llama", "modernbert", "xlm-r"}) {
    CAPTURE(composition);
    test::TemporaryDirectory directory;
    std::filesystem::copy_file(kComposed + composition + "/tokenizer.json",
                               directory.path() + "/tokenizer.json");
    const auto ids = [](const Tokenizer& tokenizer) {
      Tokenizer::Scratch scratch;
      Encoding encoding;
      tokenizer.encode("the words, it's größer", {}, encoding, scratch);
      return encoding.input_ids;
    };
    const auto bare = ids(Tokenizer::open(directory.path()));
    CHECK(bare.size() > 4);
    for (const TokenizerClass& row : tokenizer_classes()) {
      if (row.source != ClassSource::written || row.rebuild || row.languages) continue;
      CAPTURE(row.name);
      directory.add("tokenizer_config.json",
                    "{\"tokenizer_class\": \"" + std::string(row.name) + "\"}");
      CHECK(ids(Tokenizer::open(directory.path())) == bare);
    }
  }
}

TEST_CASE("a class that builds its tokenizer anew needs its kind of model") {
  test::TemporaryDirectory directory;
  std::filesystem::copy_file(kComposed + "llama/tokenizer.json",
                             directory.path() + "/tokenizer.json");
  directory.add("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  CHECK_THROWS_WITH_AS(Tokenizer::open(directory.path()), doctest::Contains("Unigram"), Error);
  directory.add("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  CHECK_NOTHROW(Tokenizer::open(directory.path()));
}

TEST_CASE("LlamaTokenizer of a byte-level file is what the file says") {
  test::TemporaryDirectory directory;
  std::filesystem::copy_file(kComposed + "llama3/tokenizer.json",
                             directory.path() + "/tokenizer.json");
  const auto ids = [&] {
    const Tokenizer tokenizer = Tokenizer::open(directory.path());
    Tokenizer::Scratch scratch;
    Encoding encoding;
    tokenizer.encode("the words, it's 12345", {}, encoding, scratch);
    return encoding.input_ids;
  };
  const auto bare = ids();
  directory.add("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast"})");
  CHECK(ids() == bare);
}

TEST_CASE("EsmTokenizer is meant where config.json says esm and no class is named") {
  test::TemporaryDirectory directory;
  directory.add("vocab.txt", "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\n<mask>\n");
  directory.add("config.json", R"({"model_type": "esm"})");
  const Tokenizer tokenizer = Tokenizer::open(directory.path());
  Tokenizer::Scratch scratch;
  Encoding encoding;
  tokenizer.encode("LAj A", {}, encoding, scratch);
  CHECK(encoding.input_ids == std::vector<int32_t>{0, 4, 5, 3, 5, 2});
}

TEST_CASE("a class that builds its tokenizer anew does not where the model's type is ModernBERT") {
  test::TemporaryDirectory directory;
  std::filesystem::copy_file(kComposed + "llama/tokenizer.json",
                             directory.path() + "/tokenizer.json");
  const auto ids = [&] {
    const Tokenizer tokenizer = Tokenizer::open(directory.path());
    Tokenizer::Scratch scratch;
    Encoding encoding;
    tokenizer.encode("words</s>words", {}, encoding, scratch);
    return encoding.input_ids;
  };
  const auto bare = ids();
  directory.add("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  directory.add("config.json", R"({"model_type": "bert"})");
  CHECK(ids() != bare);
  directory.add("config.json", R"({"model_type": "modernbert"})");
  CHECK(ids() == bare);
}
