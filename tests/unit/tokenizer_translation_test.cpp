#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/json.h"
#include "temporary.h"
#include "token_cases.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/train/train_pieces.h"
#include "tokenizer/translation_tokenizers.h"

using namespace bert;
using bert::test::encode;
using bert::test::numbers;
using bert::test::TemporaryDirectory;

namespace {

const std::string kFolder = std::string(BERT_TESTS_DIR) + "/golden/tokens/translation/";

std::string tokens(const Tokenizer& tokenizer, std::string_view text) {
  std::string line;
  for (const int32_t id : encode(tokenizer, text)) {
    line.append(line.empty() ? "" : " ").append(tokenizer.token(id));
  }
  return line;
}

SentencePieceFile learn(Units units, size_t size, const std::vector<std::string>& texts) {
  PieceTrainer trainer({.units = units, .vocab_size = size});
  for (const std::string& text : texts) trainer.add(text);
  return trainer.train();
}

void write(const std::string& directory,
           const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, bytes] : files) {
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
  }
}

/// A model of `pieces`, all normal but the unknown one, which comes first.
SentencePieceFile small_model(const std::vector<std::pair<std::string, float>>& pieces) {
  SentencePieceFile file;
  file.pieces.push_back({"<unk>", 0, SentencePieceFile::Type::unknown});
  for (const auto& [text, score] : pieces) file.pieces.push_back({text, score});
  return file;
}

std::string message(const SentencePieceFile& file) {
  try {
    SentencePiece(file, "F");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Marian's tokenizers are equal to those of transformers, with models of each type") {
  for (const char* name : {"unigram-bpe", "separate", "characters-words", "blanks"}) {
    CAPTURE(name);
    const TranslationTokenizers both = TranslationTokenizers::open(kFolder + name);
    std::ifstream cases(kFolder + name + "/cases.jsonl");
    size_t count = 0;
    for (std::string line; std::getline(cases, line); ++count) {
      const JsonDocument document = JsonDocument::parse(line, "cases.jsonl");
      std::vector<Json> fields;
      document.root().for_each_element([&](Json field) { fields.push_back(field); });
      const std::string text(fields[0].as_string());
      CAPTURE(text);
      CHECK(encode(both.source, text) == numbers(fields[1]));
      const std::vector<int32_t> ids = numbers(fields[2]);
      CHECK(encode(both.target, text) == ids);
      CHECK(both.target.decode(ids, false) == fields[3].as_string());
    }
    CHECK(count > 80);
  }
}

TEST_CASE("Offsets of a translation's tokens are bytes of the text as it was given") {
  const Tokenizer source = Tokenizer::open(kFolder + "unigram-bpe");
  Tokenizer::Scratch scratch;
  Encoding encoding;
  const std::string text =
      ">>fr<<  the \xEF\xAC\x81"
      "e";  // the ligature becomes two letters
  source.encode(text, {}, encoding, scratch);
  std::vector<std::string> parts;
  for (size_t i = 0; i < encoding.size(); ++i) {
    const Offset at = encoding.offsets[i];
    parts.push_back(text.substr(at.begin, at.end - at.begin));
  }
  CHECK(parts.front() == ">>fr<<");
  CHECK(parts.back().empty());
  CHECK(std::count(parts.begin(), parts.end(), "the") == 1);
  CHECK(std::count(parts.begin(), parts.end(), "\xEF\xAC\x81") >= 1);
  CHECK(encoding.word_ids[0] == 0);
  CHECK(encoding.word_ids[encoding.size() - 2] > encoding.word_ids[1]);
}

TEST_CASE("A directory without source.spm has one tokenizer for both sides") {
  const TranslationTokenizers both =
      TranslationTokenizers::open(std::string(BERT_TESTS_DIR) + "/golden/tiny-bert");
  const std::string text = "the cat";
  CHECK(encode(both.source, text) == encode(both.target, text));
  CHECK(both.source.frame().before.size() == 1);
}

TEST_CASE("Units of texts are learned, written and read again") {
  const std::vector<std::string> texts = {"low lower lowest", "new  newer newest", "low new",
                                          "\xE6\x88\x91\xE7\x88\xB1"};
  const TemporaryDirectory directory;
  const auto both = [&](Units units, size_t size) {
    const SentencePieceFile file = learn(units, size, texts);
    write(directory.path(), translation_files(file, file, {}));
    return TranslationTokenizers::open(directory.path());
  };
  const TranslationTokenizers characters = both(Units::character, 100);
  CHECK(tokens(characters.source, "low l") == "l o w \u2581 l </s>");
  CHECK(characters.target.decode(encode(characters.target, "wel  ow"), true) == "wel ow");
  CHECK(tokens(characters.source, "l\xE6\x88\x91?") == "l \xE6\x88\x91 <unk> </s>");
  const TranslationTokenizers words = both(Units::word, 100);
  CHECK(tokens(words.source, "low newest lowlow") == "\u2581low \u2581newest <unk> </s>");
  CHECK(words.target.decode(encode(words.target, "low newest"), true) == "low newest");
  const TranslationTokenizers pieces = both(Units::piece, 100);
  CHECK(tokens(pieces.source, "low newer") == "\u2581low \u2581new er </s>");
  CHECK(pieces.source.vocab_size() == 3 + learn(Units::piece, 100, texts).pieces.size() - 3);
  CHECK(both(Units::character, 5).source.vocab_size() == 5);  // two characters, </s>, <unk>, <pad>
}

TEST_CASE(
    "A vocabulary does not depend on the order of texts, nor take spellings of special tokens") {
  std::vector<std::string> texts = {"a b </s> </s>", "b c <pad>", "c c d"};
  for (const Units units : {Units::character, Units::word, Units::piece}) {
    const std::string one = sentencepiece_bytes(learn(units, 30, texts));
    std::swap(texts[0], texts[2]);
    CHECK(sentencepiece_bytes(learn(units, 30, texts)) == one);
  }
  const SentencePieceFile file = learn(Units::piece, 100, texts);
  CHECK(std::count_if(file.pieces.begin(), file.pieces.end(),
                      [](const auto& piece) { return piece.text == "</s>"; }) == 1);
  CHECK_THROWS_WITH_AS(learn(Units::word, 3, texts), doctest::Contains("wants more than 3"), Error);
  CHECK_THROWS_AS(learn(Units::word, 30, {"", "  "}), Error);
}

TEST_CASE("A model of sentencepiece that is written reads as it was") {
  SentencePieceFile file = small_model({{"a", -1.5F}, {"\u2581b", -0.25F}});
  file.pieces.push_back({"<x>", 0, SentencePieceFile::Type::user_defined});
  file.model = SentencePieceFile::Model::word;
  file.treat_whitespace_as_suffix = true;
  file.add_dummy_prefix = file.remove_extra_whitespaces = false;
  file.pad_id = 1;
  const std::string bytes = sentencepiece_bytes(file);
  const SentencePieceFile again = parse_sentencepiece(bytes, "F");
  CHECK(sentencepiece_bytes(again) == bytes);
  REQUIRE(again.pieces.size() == 4);
  CHECK(again.pieces[2].score == -0.25F);
  CHECK(again.pieces[3].type == SentencePieceFile::Type::user_defined);
  CHECK(again.bos_id == 1);
  CHECK(again.unk_surface == " \u2047 ");
  CHECK_FALSE(again.add_dummy_prefix);
}

TEST_CASE("Models of sentencepiece that it refuses are refused, by name") {
  CHECK(message(small_model({{"a", 0}})).empty());
  CHECK(message(small_model({{"a", 0}, {"a", 0}})) == "F: piece 1 (a) stands twice");
  CHECK(message(small_model({{"", 0}})) == "F: piece 1 () is empty");
  CHECK(message(small_model({{"\xFF", 0}})) == "F: piece 1 (\\xff) is not UTF-8");
  CHECK(message(small_model({{"a", NAN}})) ==
        "F: piece 1 (a) has a score that is no finite number");
  SentencePieceFile file = small_model({{"a", 0}});
  file.pieces[1].type = SentencePieceFile::Type::unknown;
  CHECK(message(file) == "F: piece 1 (a) is a second unknown piece");
  file.pieces[1].type = SentencePieceFile::Type::byte;
  CHECK(message(file) == "F: piece 1 (a) is no byte, or byte_fallback is false");
  file = small_model({{"a", 0}});
  file.byte_fallback = true;
  CHECK(message(file) == "F: byte_fallback is true, and not all 256 bytes are there");
  file.pieces.erase(file.pieces.begin());
  file.byte_fallback = false;
  CHECK(message(file) == "F: has no unknown piece");
}
