#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

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
      if (row.source != ClassSource::written) continue;
      CAPTURE(row.name);
      directory.add("tokenizer_config.json",
                    "{\"tokenizer_class\": \"" + std::string(row.name) + "\"}");
      CHECK(ids(Tokenizer::open(directory.path())) == bare);
    }
  }
}
