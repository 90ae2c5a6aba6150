#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "capture.h"
#include "crc32.h"
#include "io/json.h"
#include "temporary.h"
#include "text/charsmap.h"
#include "text/unicode.h"
#include "tokenizer/files/sentencepiece_file.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/tokenizer.h"

using namespace bert;
using namespace std::string_literals;

namespace {

const std::string kFolder = std::string(BERT_TESTS_DIR) + "/golden/tokens/sentencepiece/";

using Spans = std::vector<std::vector<int64_t>>;

Spans read_spans(Json json) {
  Spans spans;
  json.for_each_element([&](Json span) {
    span.for_each_element([&, first = true](Json number) mutable {
      if (first) spans.emplace_back();
      first = false;
      spans.back().push_back(number.as_int());
    });
  });
  return spans;
}

/// A model with its vocabulary, which it refers to: with the trie from the first word on, and
/// without it.
struct Model {
  std::unique_ptr<Vocab> vocab = std::make_unique<Vocab>("", 0);
  std::unique_ptr<Unigram> unigram, without;

  void add(std::string_view piece, double score) {
    vocab->add(piece);
    options.scores.push_back(score);
  }
  void make() {
    vocab->close();
    options.trie_after = 0;
    unigram = std::make_unique<Unigram>(*vocab, options, "test");
    options.trie_after = SIZE_MAX;
    without = std::make_unique<Unigram>(*vocab, options, "test");
  }
  static Spans split(const Unigram& model, std::string_view word) {
    const auto scratch = model.make_scratch();
    std::vector<Subword> pieces;
    model.split(word, *scratch, pieces);
    Spans spans;
    for (const Subword& piece : pieces) spans.push_back({piece.id, piece.begin, piece.end});
    return spans;
  }
  Spans split(std::string_view word) const {
    const Spans spans = split(*unigram, word);
    CHECK(split(*without, word) == spans);
    return spans;
  }

  UnigramOptions options;
};

Model model_of(const SentencePieceFile& file) {
  Model model;
  for (const auto& piece : file.pieces) model.add(piece.text, double{piece.score});
  model.options.unk_id = file.unk_id;
  model.options.byte_fallback = file.byte_fallback;
  model.make();
  return model;
}

NormalText plain_text(std::string_view text) {
  NormalText plain;
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    length = utf8_step(text, i).length;
    plain.append(text.substr(i, length),
                 {static_cast<uint32_t>(i), static_cast<uint32_t>(i + length)});
  }
  return plain;
}

NormalText normalize(const Charsmap& charsmap, std::string_view text) {
  NormalText plain = plain_text(text), normal;
  return charsmap.normalize(plain, normal) ? normal : plain;
}

std::string with_bars(const std::string& text) {
  std::string word;
  for (char c : text) word += c == ' ' ? "\u2581"s : std::string(1, c);
  return word;
}

std::string data_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::data);
    return error.what();
  }
  return "no error";
}

void append_code_point(std::string& out, char32_t c) {
  char bytes[4];
  out.append(bytes, encode_utf8(c, bytes));
}

}  // namespace

TEST_CASE("texts through the models of sentencepiece, as tokenizers has them") {
  const SentencePieceFile plain = read_sentencepiece_file(kFolder + "plain.model");
  const SentencePieceFile bytes = read_sentencepiece_file(kFolder + "bytes.model");
  CHECK(plain.charsmap == bytes.charsmap);
  const Charsmap charsmap(plain.charsmap, "plain.model");
  const Charsmap longest(plain.charsmap, "plain.model", Charsmap::Rule::longest);
  const std::map<std::string, Model> models = [&] {
    std::map<std::string, Model> made;
    made.emplace("plain", model_of(plain));
    made.emplace("bytes", model_of(bytes));
    return made;
  }();
  std::ifstream file(kFolder + "cases.jsonl");
  size_t cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    CAPTURE(line);
    const JsonDocument document = JsonDocument::parse(line, "cases.jsonl");
    const Json row = document.root();
    const NormalText normal = normalize(charsmap, row.at("text").as_string());
    CHECK(normal.text == row.at("normal").as_string());
    CHECK(normalize(longest, row.at("text").as_string()).text ==
          row.find("longest").value_or(row.at("normal")).as_string());
    Spans origins;
    for (size_t i = 0; i < normal.text.size(); i += utf8_step(normal.text, i).length) {
      origins.push_back({normal.origins[i].begin, normal.origins[i].end});
    }
    CHECK(origins == read_spans(row.at("origins")));
    for (const auto& [name, model] : models) {
      CAPTURE_BINDING(name);
      CHECK(model.split(with_bars(normal.text)) == read_spans(row.at(name)));
    }
  }
  CHECK(cases > 100);
}

TEST_CASE("scores that tie: the first way that was found stays") {
  std::ifstream file(kFolder + "ties.jsonl");
  size_t words = 0, errors = 0;
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    const JsonDocument document = JsonDocument::parse(line, "ties.jsonl");
    Model model;
    document.root().at("vocab").for_each_element([&](Json piece) {
      std::vector<Json> pair;
      piece.for_each_element([&](Json part) { pair.push_back(part); });
      model.add(pair[0].as_string(), pair[1].as_double());
    });
    const Json unk_id = document.root().at("unk_id");
    if (!unk_id.is_null()) model.options.unk_id = static_cast<int32_t>(unk_id.as_int());
    model.make();
    document.root().at("words").for_each_element([&](Json word) {
      std::vector<Json> pair;
      word.for_each_element([&](Json part) { pair.push_back(part); });
      ++words;
      if (pair[1].is_null()) {
        ++errors;
        CHECK(data_error([&] {
                model.split(pair[0].as_string());
              }).ends_with("' is no piece of the vocabulary, which has no unknown token"));
      } else {
        CHECK(model.split(pair[0].as_string()) == read_spans(pair[1]));
      }
    });
  }
  CHECK(words > 90);
  CHECK(errors > 0);
}

TEST_CASE("every code point at the borders of clusters") {
  const Charsmap charsmap(read_sentencepiece_file(kFolder + "plain.model").charsmap, "plain.model");
  const JsonDocument document = JsonDocument::open(kFolder + "clusters.json");
  size_t templates = 0;
  document.root().for_each_member([&](std::string_view pattern, Json crc) {
    CAPTURE(pattern);
    ++templates;
    const size_t hole = pattern.find("{}");
    NormalText normal;
    test::Crc32 found;
    for (char32_t c = 1; c < 0xE1000; c = c == 0xD7FF ? 0xE000 : c == 0x1FFFF ? 0xE0000 : c + 1) {
      std::string text(pattern.substr(0, hole));
      append_code_point(text, c);
      text += pattern.substr(hole + 2);
      found.add(normalize(charsmap, text).text);
      found.add("\n");
    }
    CHECK(found.value() == crc.as_int());
  });
  CHECK(templates == 10);
}

TEST_CASE("a long word: the same pieces as in parts that nothing spans, and flat memory") {
  const Model model = model_of(read_sentencepiece_file(kFolder + "bytes.model"));
  const std::string part = "\u2581the\u2581quick\u2581\u2603\u2603br\u00fcwn";
  std::string word;
  Spans expected;
  for (size_t i = 0; i < 3000; ++i) {
    for (std::vector<int64_t> span : model.split(part)) {
      for (size_t k : {1, 2}) span[k] += static_cast<int64_t>(word.size());
      expected.push_back(span);
    }
    word += part;
  }
  CHECK(model.split(word) == expected);

  std::string unknown;  // one unknown text, however long
  for (size_t i = 0; i < 5000; ++i) unknown += "\u2603";
  Model plain = model_of(read_sentencepiece_file(kFolder + "plain.model"));
  CHECK(plain.split(unknown) == Spans{{0, 0, static_cast<int64_t>(unknown.size())}});
}

TEST_CASE("threads that split while the trie is made find the same pieces") {
  Model model = model_of(read_sentencepiece_file(kFolder + "plain.model"));
  std::vector<std::string> words;
  for (size_t i = 0; i < 300; ++i) words.push_back(fmt::format("\u2581the{}\u2581cat{}s", i, i));
  std::vector<Spans> wanted;
  for (const std::string& word : words) wanted.push_back(model.split(word));
  model.options.trie_after = 1000;
  for (size_t round = 0; round < 5; ++round) {
    const Unigram shared(*model.vocab, model.options, "test");
    std::vector<size_t> wrong(4);
    std::vector<std::thread> threads;
    for (size_t& count : wrong) {
      threads.emplace_back([&] {
        for (size_t i = 0; i < words.size(); ++i) {
          count += Model::split(shared, words[i]) != wanted[i];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<size_t>(4));
  }
}

TEST_CASE("bad Unigram vocabularies are refused") {
  const auto error = [](const std::vector<std::pair<std::string, double>>& pieces, int32_t unk) {
    return data_error([&] {
      Model model;
      for (const auto& [piece, score] : pieces) model.add(piece, score);
      model.options.unk_id = unk;
      model.make();
    });
  };
  CHECK(error({}, 0) == "test: the Unigram vocabulary is empty");
  CHECK(error({{"a", 0}}, 1) == "test: unk_id 1 is not one of the 1 pieces");
  CHECK(error({{"a", 0}}, -1) == "test: unk_id -1 is not one of the 1 pieces");
  CHECK(error({{"a", 0}, {"b", NAN}}, 0) == "test: the score of piece 1 is not a finite number");
  CHECK(error({{"a\xFF", 0}}, 0) == "test: piece 0 is not UTF-8");
}

TEST_CASE("a charsmap that points outside is refused, whatever its bytes") {
  const std::string good = read_sentencepiece_file(kFolder + "plain.model").charsmap;
  const auto error = [](const std::string& bytes) {
    return data_error([&] { Charsmap(bytes, "test"); });
  };
  const std::string name = "test: precompiled_charsmap: ";
  CHECK(error("") == name + "ends before the size of its trie");
  CHECK(error("\0\0\0\0"s) == name + "a trie of 0 bytes in 4 bytes");
  CHECK(error("\xFF\xFF\xFF\xFFxxxx"s) == name + "a trie of 4294967295 bytes in 8 bytes");
  CHECK(error(good + "\xFF") == name + "replacements that are not UTF-8");
  CHECK(data_error([] { Charsmap::from_base64("ab*=", "test"); }) == name + "is not base64");
  size_t refused = 0;
  const std::string text = "x\u0301 ½ \u0600\u0301 ＡＢ";
  for (size_t i = 4; i < good.size(); ++i) {  // any byte may be wrong: no read goes outside
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 + i % 255));
    try {
      normalize(Charsmap(bytes, "test"), text);
      normalize(Charsmap(bytes, "test", Charsmap::Rule::longest), text);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("the fields of a sentencepiece file") {
  const SentencePieceFile file = read_sentencepiece_file(kFolder + "bytes.model");
  CHECK(file.model == SentencePieceFile::Model::unigram);
  CHECK(file.byte_fallback);
  CHECK(file.unk_id == 0);
  CHECK(file.pad_id == -1);
  CHECK(file.pieces[0].type == SentencePieceFile::Type::unknown);
  CHECK(file.pieces[1].text == "<s>");
  CHECK(file.pieces[1].type == SentencePieceFile::Type::control);
  CHECK(file.pieces[3].text == "<0x00>");
  CHECK(file.pieces[3].type == SentencePieceFile::Type::byte);
  CHECK(file.add_dummy_prefix);
  CHECK(file.remove_extra_whitespaces);

  // field 2 (trainer_spec): model_type 2, pad_id -1 in ten bytes, unk_piece "?"; an unknown field
  const std::string spec =
      "\x18\x02\xD8\x02\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\xEA\x02\x01?\xD0\x0F\x07"s;
  const std::string piece =
      "\x0A\x09\x0A\x01"
      "a\x15\0\0\xC0\xBF\x18\x04"s;
  const SentencePieceFile small = parse_sentencepiece(
      piece.substr(0, 1) + "\x0A" + piece.substr(2) + "\x12" + char(spec.size()) + spec, "t");
  CHECK(small.pieces[0].text == "a");
  CHECK(small.pieces[0].score == -1.5f);
  CHECK(small.pieces[0].type == SentencePieceFile::Type::user_defined);
  CHECK(small.model == SentencePieceFile::Model::bpe);
  CHECK(small.pad_id == -1);
  CHECK(small.unk_piece == "?");
}

TEST_CASE("a file that is not sentencepiece's is refused, whatever its bytes") {
  const auto error = [](const std::string& bytes) {
    return data_error([&] { parse_sentencepiece(bytes, "m"); });
  };
  const std::string name = "m: not a model of sentencepiece: ";
  CHECK(error("") == name + "it has no pieces");
  CHECK(error("\x0A\x05"
              "abc") == name + "ModelProto: a field of 5 bytes where 3 are left");
  CHECK(error("\x0A") == name + "ModelProto: a field of 1 bytes where 0 are left");
  CHECK(error("\x0A\x02\x08\x01") == name + "SentencePiece: field 1 has wire type 0, wants 2");
  CHECK(error("\x0A\x02\x18\x09") == name + "SentencePiece: field 3 is 9, wants 1 to 6");
  CHECK(error("\x0B") == name + "ModelProto: field 1 has wire type 3");
  CHECK(error("\x02\x01x") == name + "ModelProto: a field with number 0");
  CHECK(error(std::string(11, '\xFF')) == name + "ModelProto: a number of more than 10 bytes");
  std::ostringstream stream;
  stream << std::ifstream(kFolder + "plain.model", std::ios::binary).rdbuf();
  const std::string good = stream.str();
  for (size_t size = 0; size < good.size(); size += 7) {  // no cut makes it read outside
    try {
      parse_sentencepiece(std::string_view(good).substr(0, size), "m");
    } catch (const Error&) {
    }
  }
}

TEST_CASE("directories with a model file of sentencepiece and no tokenizer.json") {
  std::ifstream file(kFolder + "directories.jsonl");
  size_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    const JsonDocument document = JsonDocument::parse(line, "directories.jsonl");
    const Json row = document.root();
    test::TemporaryDirectory folder;
    std::filesystem::copy_file(kFolder + std::string(row.at("model").as_string()),
                               folder.path() + "/spiece.model");
    const size_t config = line.find("\"config\":") + 9, end = line.find(",\"cases\"");
    CAPTURE(line.substr(config, end - config));
    std::ofstream(folder.path() + "/tokenizer_config.json") << line.substr(config, end - config);
    const Tokenizer tokenizer = Tokenizer::open(folder.path());
    Tokenizer::Scratch scratch;
    row.at("cases").for_each_element([&](Json wanted) {
      CAPTURE(std::string(wanted.at("text").as_string()));
      Encoding encoding;
      tokenizer.encode(wanted.at("text").as_string(), {}, encoding, scratch);
      std::vector<int64_t> ids;
      wanted.at("ids").for_each_element([&](Json id) { ids.push_back(id.as_int()); });
      CHECK(std::vector<int64_t>(encoding.input_ids.begin(), encoding.input_ids.end()) == ids);
      if (const auto offsets = wanted.find("offsets")) {
        Spans spans;
        for (const Offset& offset : encoding.offsets) spans.push_back({offset.begin, offset.end});
        CHECK(spans == read_spans(*offsets));
      }
      ++cases;
    });
  }
  CHECK(cases > 80);
}

TEST_CASE("a model file of sentencepiece needs one of the classes that read it") {
  test::TemporaryDirectory folder;
  std::filesystem::copy_file(kFolder + "plain.model", folder.path() + "/spm.model");
  const auto error = [&] {
    try {
      Tokenizer::open(folder.path());
    } catch (const Error& error) {
      CHECK(error.kind() == Error::Kind::unsupported);
      return std::string(error.what()).substr(folder.path().size());
    }
    return "no error"s;
  };
  const std::string classes =
      "/spm.model: is read for XLMRobertaTokenizer, CamembertTokenizer, AlbertTokenizer, "
      "DebertaV2Tokenizer, MBartTokenizer, MBart50Tokenizer, PegasusTokenizer and T5Tokenizer, ";
  CHECK(error() == classes + "and tokenizer_config.json and config.json name none of them");
  std::ofstream(folder.path() + "/tokenizer_config.json")
      << R"({"tokenizer_class": "BertTokenizer"})";
  CHECK(error() == classes + "not for BertTokenizer");
}

TEST_CASE("base64") {
  CHECK(decode_base64("") == "");
  CHECK(decode_base64("AAECAw==") == "\0\1\2\3"s);
  CHECK(decode_base64("+/8=") == "\xFB\xFF");
  for (const char* bad : {"A", "AAA", "A===", "====", "AB==", "AAB=", "A=AA", "AA\nA"}) {
    CHECK_FALSE(decode_base64(bad).has_value());
  }
}
