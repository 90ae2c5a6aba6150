#include "tokenizer/tokenizer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/error.h"
#include "capture.h"
#include "crc32.h"
#include "io/json.h"
#include "temporary.h"
#include "tokenizer/engines/wordpiece.h"

using namespace bert;
using namespace std::string_literals;
using test::Crc32;

namespace {

const std::string kTokens = std::string(BERT_TESTS_DIR) + "/golden/tokens/";

struct FlagSet {
  const char* name;
  NormalizerOptions options;
};

constexpr FlagSet kSets[] = {{"uncased", {true, true, true, true}},
                             {"cased", {true, true, false, false}},
                             {"keep-accents", {true, true, false, true}},
                             {"no-cjk", {true, false, true, true}}};

/// The vocabulary that make_tokens.py describes: what is white space is said here once more, since
/// the tables under test must not decide it.
Vocab every_character() {
  Vocab vocab("##", 400);
  vocab.reserve(2'300'000, 16'000'000);
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) vocab.add(token);
  for (char32_t c = 0; c < 0x110000; ++c) {
    const bool white = (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
                       (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
                       c == 0x205F || c == 0x3000;
    if (white || (c >= 0xD800 && c < 0xE000)) continue;
    char text[6] = {'#', '#'};
    const size_t n = encode_utf8(c, text + 2);
    vocab.add({text + 2, n});
    vocab.add({text, n + 2});
  }
  vocab.close();
  return vocab;
}

void add_pieces(const std::vector<Piece>& pieces, Crc32& crc) {
  crc.add(static_cast<uint32_t>(pieces.size()));
  for (const Piece& piece : pieces) {
    crc.add(static_cast<uint32_t>(piece.id));
    crc.add(piece.offset.begin);
    crc.add(piece.offset.end);
    crc.add(static_cast<uint32_t>(piece.word));
  }
}

/// {set, context} -> {first code point of a block -> CRC-32}
std::map<std::pair<std::string, std::string>, std::map<char32_t, uint32_t>> expected_digests() {
  std::map<std::pair<std::string, std::string>, std::map<char32_t, uint32_t>> digests;
  std::ifstream file(kTokens + "code_points.tsv");
  REQUIRE(file);
  std::string line;
  std::getline(file, line);
  std::string set, context, start, crc;
  while (file >> set >> context >> start >> crc) {
    digests[{set, context}][static_cast<char32_t>(std::stoul(start, nullptr, 16))] =
        static_cast<uint32_t>(std::stoul(crc, nullptr, 16));
  }
  return digests;
}

Tokenizer& tokenizer_of(const std::string& set) {
  static std::map<std::string, Tokenizer> open;
  const auto found = open.find(set);
  if (found != open.end()) return found->second;
  return open.emplace(set, Tokenizer::open(kTokens + set)).first->second;
}

std::vector<int64_t> integers(Json array) {
  std::vector<int64_t> values;
  array.for_each_element([&](Json value) { values.push_back(value.as_int()); });
  return values;
}

void check_encoding(const Encoding& found, Json wanted) {
  const std::vector<int64_t> ids(found.input_ids.begin(), found.input_ids.end());
  CHECK(ids == integers(wanted.at("ids")));
  const std::vector<int64_t> types(found.token_type_ids.begin(), found.token_type_ids.end());
  CHECK(types == integers(wanted.at("type_ids")));
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found.is_added(i) == (found.word_ids[i] < 0));
    CHECK((found.sequence_ids[i] == 1) == (!found.is_added(i) && i >= found.range(1).begin));
  }
  const std::vector<int64_t> words(found.word_ids.begin(), found.word_ids.end());
  CHECK(words == integers(wanted.at("words")));
  std::vector<int64_t> offsets;
  wanted.at("offsets").for_each_element([&](Json pair) {
    for (const int64_t value : integers(pair)) offsets.push_back(value);
  });
  std::vector<int64_t> found_offsets;
  for (const Offset offset : found.offsets) {
    found_offsets.push_back(offset.begin);
    found_offsets.push_back(offset.end);
  }
  CHECK(found_offsets == offsets);
}

EncodeOptions options_of(Json wanted) {
  EncodeOptions options;
  if (const auto length = wanted.find("max_length"))
    options.max_length = static_cast<size_t>(length->as_int());
  if (const auto literal = wanted.find("literal")) options.literal = literal->as_bool();
  if (const auto name = wanted.find("truncation")) {
    options.truncation = name->as_string() == "only_first"    ? Truncation::only_first
                         : name->as_string() == "only_second" ? Truncation::only_second
                                                              : Truncation::longest_first;
  }
  return options;
}

void check_windows(const Tokenizer& tokenizer, Json wanted, Tokenizer::Scratch& scratch) {
  const std::string_view text = wanted.at("text").as_string();
  const auto stride = static_cast<size_t>(wanted.at("stride").as_int());
  std::vector<Encoding> windows;
  if (const auto pair = wanted.find("pair")) {
    tokenizer.encode_pair_windows(text, pair->as_string(), options_of(wanted), stride, windows,
                                  scratch);
  } else {
    tokenizer.encode_windows(text, options_of(wanted), stride, windows, scratch);
  }
  REQUIRE(windows.size() == wanted.at("windows").size() + 1);
  check_encoding(windows[0], wanted);
  size_t w = 1;
  wanted.at("windows").for_each_element([&](Json window) { check_encoding(windows[w++], window); });
}

std::vector<std::string> tokens_of(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::vector<std::string> tokens;
  for (const int32_t id : encoding.input_ids) tokens.emplace_back(tokenizer.token(id));
  return tokens;
}

Error::Kind kind_of(const std::function<void()>& f, const std::string& word) {
  try {
    f();
  } catch (const Error& error) {
    CHECK_MESSAGE(std::string(error.what()).find(word) != std::string::npos, error.what(),
                  " names ", word);
    return error.kind();
  }
  FAIL("no Error");
  return Error::Kind::internal;
}

using Directory = test::TemporaryDirectory;

constexpr std::string_view kVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\ncat\n";

std::string tokenizer_json(std::string_view model, std::string_view rest = "") {
  return R"({"model":)" + std::string(model) +
         R"(,"normalizer":{"type":"BertNormalizer","lowercase":true},)" +
         R"("pre_tokenizer":{"type":"BertPreTokenizer"})" + std::string(rest) + "}";
}

constexpr std::string_view kModel =
    R"({"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"the":4}})";

}  // namespace

TEST_CASE("ids and offsets of every code point are the reference's, in four flag sets") {
  const Vocab vocab = every_character();
  const auto digests = expected_digests();
  const std::map<std::string, std::pair<std::string, std::string>> contexts = {
      {"alone", {"", ""}}, {"between", {"a", "b"}}, {"marks", {"e\u0301", "\u0323"}}};
  REQUIRE(digests.size() == std::size(kSets) * contexts.size());
  for (const FlagSet& set : kSets) {
    const WordPiece model(vocab, {set.options, 100, 1});
    WordPiece::Scratch scratch(model);
    PieceBuffer buffer;
    std::vector<Piece> pieces;
    const PieceBuffer::Sink sink = [&](std::span<const Piece> portion) {
      pieces.insert(pieces.end(), portion.begin(), portion.end());
      return true;
    };
    for (const auto& [context, around] : contexts) {
      const auto& blocks = digests.at({set.name, context});
      REQUIRE(blocks.size() > 1);
      const char32_t size = std::next(blocks.begin())->first;
      for (const auto& [start, wanted] : blocks) {
        Crc32 crc;
        for (char32_t c = start; c < start + size; ++c) {
          if (c >= 0xD800 && c < 0xE000) continue;
          char bytes[4];
          std::string text = around.first;
          text.append(bytes, encode_utf8(c, bytes)).append(around.second);
          pieces.clear();
          buffer.start(&sink, 64);
          scratch.next_word = 0;
          model.run(text, 0, text.size(), false, scratch, buffer);
          buffer.flush();
          add_pieces(pieces, crc);
        }
        CAPTURE_BINDING(context);
        CAPTURE_BINDING(std::to_string(start));
        CHECK_MESSAGE(crc.value() == wanted, set.name);
      }
    }
  }
}

TEST_CASE("hostile texts, pairs, truncation, windows and decoding are the reference's") {
  std::ifstream file(kTokens + "cases.jsonl");
  REQUIRE(file);
  size_t count = 0;
  Tokenizer::Scratch scratch;  // serves all of them: it must notice that the tokenizer is another
  for (std::string line; std::getline(file, line); ++count) {
    const JsonDocument document = JsonDocument::parse(line, "cases.jsonl");
    const Json wanted = document.root();
    CAPTURE(line);
    const Tokenizer& tokenizer = tokenizer_of(std::string(wanted.at("set").as_string()));
    Encoding found;
    const std::string_view text = wanted.at("text").as_string();
    if (const auto pair = wanted.find("pair")) {
      tokenizer.encode_pair(text, pair->as_string(), options_of(wanted), found, scratch);
    } else {
      tokenizer.encode(text, options_of(wanted), found, scratch);
    }
    check_encoding(found, wanted);
    CHECK(tokenizer.decode(found.input_ids, true) == wanted.at("decoded").as_string());
    if (wanted.find("windows")) check_windows(tokenizer, wanted, scratch);
  }
  CHECK(count > 500);
}

TEST_CASE("invalid UTF-8 is one U+FFFD per maximal part, counted and dropped") {
  const Tokenizer& tokenizer = tokenizer_of("uncased");
  Tokenizer::Scratch scratch;
  Encoding found;
  EncodeOptions options;
  options.add_special_tokens = false;
  const auto encode = [&](std::string_view text) {
    tokenizer.encode(text, options, found, scratch);
  };
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second time the words may come from the cache
    encode("the\xFFthe \xE2\x82 x\xF0\x9F\x98");
    CHECK(found.replaced_bytes == 3);
    CHECK(found.offsets.back() == Offset{11, 12});
    encode("\xC0\xAF\xED\xA0\x80");  // an overlong form: 2 parts; a surrogate: 3
    CHECK(found.replaced_bytes == 5);
    CHECK(found.size() == 0);
    encode("the");
    CHECK(found.replaced_bytes == 0);
    CHECK(tokens_of(tokenizer, found) == std::vector<std::string>{"the"});
  }
}

TEST_CASE("a text of any length is read in portions") {
  const Tokenizer& tokenizer = tokenizer_of("uncased");
  Tokenizer::Scratch scratch;
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "unaffable ";
  std::vector<Piece> pieces;
  size_t portions = 0;
  tokenizer.for_each_piece(text, false, scratch, [&](std::span<const Piece> portion) {
    pieces.insert(pieces.end(), portion.begin(), portion.end());
    ++portions;
    return true;
  });
  CHECK(portions > 1);
  Encoding whole;
  EncodeOptions options;
  options.add_special_tokens = false;
  tokenizer.encode(text, options, whole, scratch);
  REQUIRE(whole.size() == pieces.size());
  CHECK(pieces.size() == 30000);
  for (size_t i = 0; i < pieces.size(); ++i) {
    REQUIRE(pieces[i].id == whole.input_ids[i]);
    REQUIRE(pieces[i].offset == whole.offsets[i]);
  }
  size_t seen = 0;
  tokenizer.for_each_piece(text, false, scratch, [&](std::span<const Piece> portion) {
    seen += portion.size();
    return false;
  });
  CHECK(seen < pieces.size());
}

TEST_CASE("truncation reports that tokens were dropped, and refuses what cannot be cut") {
  const Tokenizer& tokenizer = tokenizer_of("uncased");
  Tokenizer::Scratch scratch;
  Encoding found;
  EncodeOptions options;
  options.max_length = 4;
  tokenizer.encode("the the the", options, found, scratch);
  CHECK(found.size() == 4);
  CHECK(found.dropped > 0);
  tokenizer.encode("the the", options, found, scratch);
  CHECK(found.dropped == 0);
  const auto pair = [&] {
    tokenizer.encode_pair("the the the", "can can can", options, found, scratch);
  };
  options.max_length = 2;
  CHECK(kind_of(pair, "special") == Error::Kind::usage);
  options.max_length = 5;
  options.truncation = Truncation::only_first;
  CHECK(kind_of(pair, "first text is too short") == Error::Kind::usage);
  options.truncation = Truncation::only_second;
  CHECK(kind_of(pair, "second text") == Error::Kind::usage);
  std::vector<Encoding> windows;
  options.max_length = 8;
  CHECK(kind_of(
            [&] {
              tokenizer.encode_pair_windows("the", "can can can can can", options, 4, windows,
                                            scratch);
            },
            "stride") == Error::Kind::usage);
  CHECK(kind_of(
            [&] {
              tokenizer.encode_pair_windows("the the the the the", "can", options, 1, windows,
                                            scratch);
            },
            "second text") == Error::Kind::usage);
}

TEST_CASE("vocab.txt: the line number is the id, whatever stands there") {
  Directory directory;
  const std::string long_token(1 << 20, 'x');
  directory.add("vocab.txt",
                "\xEF\xBB\xBF[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n\r\n\xE2\x80\xA8\nthe \nthe\n" +
                    long_token + "\n##s\nc\0t"s + "\n[MASK]");
  const Tokenizer tokenizer = Tokenizer::open(directory.path());
  CHECK(tokenizer.vocab_size() == 12);
  CHECK(tokenizer.token_to_id("[PAD]") == 0);
  CHECK(tokenizer.token_to_id("the") == 7);  // the last of two
  CHECK(tokenizer.token_to_id(long_token) == 8);
  CHECK(tokenizer.mask_id() == 11);
  CHECK(tokenizer.token(4).empty());
  CHECK(tokenizer.continues_word(9));
  CHECK(tokenizer.is_special(11));
  CHECK_FALSE(tokenizer.is_special(7));
  CHECK(tokenizer.warnings().size() == 2);
  CHECK(tokenizer.lowercase());
  CHECK(tokenizer.special_tokens().size() == 5);
}

TEST_CASE("a directory that makes no tokenizer is refused by name") {
  const auto refuse = [](const std::string& name, std::string_view content,
                         const std::string& word) {
    Directory directory;
    if (!name.empty()) directory.add(name, content);
    CAPTURE(content);
    return kind_of([&] { Tokenizer::open(directory.path()); }, word);
  };
  using Kind = Error::Kind;
  CHECK(refuse("", "", "vocab.txt") == Kind::no_input);
  CHECK(refuse("vocab.txt", "", "empty") == Kind::data);
  CHECK(refuse("vocab.txt", "[PAD]\n[CLS]\n[SEP]\n", "[UNK]") == Kind::data);
  CHECK(refuse("vocab.txt", "[UNK]\n[SEP]\n", "[CLS]") == Kind::data);
  CHECK(refuse("vocab.txt", "[UNK]\n[CLS]\n", "[SEP]") == Kind::data);
  CHECK(refuse("vocab.txt", "[UNK]\n[CLS]\n\xFFx\n", "line 3") == Kind::data);
  CHECK(refuse("vocab.txt", "\xFF\xFE[\0U\0", "UTF-16") == Kind::data);
  const std::string json = "tokenizer.json";
  CHECK(refuse(json, "{", "tokenizer.json") == Kind::data);
  CHECK(refuse(json, tokenizer_json(R"({"type":"WordLevel","vocab":[]})"), "WordLevel") ==
        Kind::unsupported);
  CHECK(refuse(json, tokenizer_json(R"({"type":"WordPiece","vocab":null})"),
               "found null, wants an object") == Kind::data);
  for (const char* id : {"-1", "1.5", "\"0\"", "1099511627776", "2147483648", "null"}) {
    CHECK(
        refuse(json,
               tokenizer_json(R"({"type":"WordPiece","vocab":{"[UNK]":)" + std::string(id) + "}}"),
               "[UNK]") == Kind::data);
  }
  CHECK(refuse(json, tokenizer_json(R"({"type":"WordPiece","vocab":{"a":0,"b":0}})"),
               "two tokens") == Kind::data);
  for (const int tokens : {3, 3000}) {
    std::string vocab;
    for (int id = 0; id < tokens; ++id) vocab += fmt::format("\"t{0}\":{0},", id);
    const auto with = [&](std::string_view last) {
      return tokenizer_json(R"({"type":"WordPiece","vocab":{)" + vocab + std::string(last) + "}}");
    };
    CHECK(refuse(json, with(fmt::format("\"t1\":{}", tokens)), "\"t1\" stands twice") ==
          Kind::data);
    CHECK(refuse(json, with("\"t1\":1"), "\"t1\" stands twice") == Kind::data);
    CHECK(refuse(json, with(fmt::format("\"\":{},\"\":{}", tokens, tokens + 1)),
                 "\"\" stands twice") == Kind::data);
    CHECK(refuse(json, with("\"x\":1"), "two tokens") == Kind::data);
  }
  CHECK(refuse(json, tokenizer_json(kModel, R"(,"truncation":{"max_length":8,"stride":8})"),
               "stride") == Kind::data);
  CHECK(refuse(json, tokenizer_json(kModel, R"(,"added_tokens":[{"id":-3,"content":"x"}])"),
               "added_tokens") == Kind::data);
  CHECK(refuse(json, tokenizer_json(kModel, R"(,"post_processor":{"type":"RobertaProcessing"})"),
               "cls") == Kind::data);
  const std::string parts =
      R"({"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
      R"({"SpecialToken":{"id":"[SEP]","type_id":0}})";
  const std::string pair =
      R"(,{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}})";
  CHECK(
      refuse(json,
             tokenizer_json(kModel, R"(,"post_processor":{"type":"TemplateProcessing","single":[)" +
                                        parts + R"(],"pair":[)" + parts + pair +
                                        R"(],"special_tokens":{"[CLS]":{}}})"),
             "[SEP]") == Kind::data);
  CHECK(refuse(json,
               tokenizer_json(
                   kModel, R"(,"post_processor":{"type":"TemplateProcessing","single":[)" + parts +
                               R"(],"pair":[)" + parts + R"(],"special_tokens":{}})"),
               "template") == Kind::unsupported);
}

TEST_CASE("tokenizer_config.json: flags, names, lengths, classes") {
  Directory directory;
  directory.add("vocab.txt", kVocab);
  const auto open = [&](std::string_view config) {
    directory.add("tokenizer_config.json", config);
    return Tokenizer::open(directory.path());
  };
  CHECK(open("{}").model_max_length() == std::nullopt);
  CHECK(open(R"({"model_max_length":512})").model_max_length() == 512u);
  CHECK(open(R"({"model_max_length":1000000000000000019884624838656})").model_max_length() ==
        std::nullopt);
  CHECK_FALSE(open(R"({"do_lower_case":false})").lowercase());
  const Tokenizer named =
      open(R"({"mask_token":{"content":"cat","lstrip":true},"pad_token":"none"})");
  CHECK(named.mask_token() == "cat");
  CHECK(named.mask_id() == 7);
  CHECK(named.pad_id() == -1);
  CHECK(kind_of([&] { open(R"({"tokenizer_class":"BertJapaneseTokenizer"})"); }, "BertJapanese") ==
        Error::Kind::unsupported);
  CHECK(kind_of([&] { open(R"({"do_lower_case":"yes"})"); }, "do_lower_case") == Error::Kind::data);
  CHECK(kind_of([&] { open(R"({"model_max_length":-1})"); }, "model_max_length") ==
        Error::Kind::data);
}

TEST_CASE("a tokenizer without a class is the one of the model's type") {
  Directory directory;
  directory.add("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\n[CLS]\n[SEP]\na\n<mask>\n");
  const auto ids = [&](std::string_view text) {
    const Tokenizer tokenizer = Tokenizer::open(directory.path());
    Tokenizer::Scratch scratch;
    Encoding out;
    tokenizer.encode(text, {}, out, scratch);
    return out.input_ids;
  };
  directory.add("config.json", R"({"model_type":"mpnet"})");
  CHECK(ids("A <mask>") == std::vector<int32_t>{0, 6, 7, 2});
  directory.add("tokenizer_config.json", R"({"tokenizer_class":"BertTokenizer"})");
  CHECK(ids("A") == std::vector<int32_t>{4, 6, 5});
  directory.add("tokenizer_config.json", R"({"cls_token":"[CLS]"})");
  CHECK(ids("A") == std::vector<int32_t>{4, 6, 2});
  directory.add("config.json", R"({"model_type":"bert"})");
  CHECK(ids("A") == std::vector<int32_t>{4, 6, 5});
}

TEST_CASE("the frame is data: a template of any special tokens around one text and two") {
  Directory directory;
  const auto special = [](std::string_view token, int type) {
    return fmt::format(R"({{"SpecialToken":{{"id":"{}","type_id":{}}}}})", token, type);
  };
  const auto text = [](std::string_view name, int type) {
    return fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, type);
  };
  const auto open = [&](const std::string& single, const std::string& pair) {
    directory.add("tokenizer.json",
                  tokenizer_json(R"({"type":"WordPiece","unk_token":"[UNK]","vocab":)"
                                 R"({"[UNK]":0,"<a>":1,"<b>":2,"<c>":3,"the":4,"##s":5}})",
                                 fmt::format(R"(,"post_processor":{{"type":"TemplateProcessing",)"
                                             R"("single":[{}],"pair":[{}],"special_tokens":)"
                                             R"({{"<a>":{{"ids":[1]}},"<b>":{{}},"<c>":{{}}}}}})",
                                             single, pair)));
    return Tokenizer::open(directory.path());
  };
  const Tokenizer tokenizer =
      open(text("A", 2) + "," + special("<c>", 0),
           special("<a>", 3) + "," + special("<b>", 0) + "," + text("A", 1) + "," +
               special("<b>", 4) + "," + text("B", 0) + "," + special("<b>", 1));
  CHECK(tokenizer.added_tokens_single() == 1);
  CHECK(tokenizer.added_tokens_pair() == 4);
  Tokenizer::Scratch scratch;
  Encoding found;
  const auto sequences = [&] {
    return std::vector<int>(found.sequence_ids.begin(), found.sequence_ids.end());
  };
  tokenizer.encode("the thes", {}, found, scratch);
  CHECK(found.input_ids == std::vector<int32_t>{4, 4, 5, 3});
  CHECK(found.token_type_ids == std::vector<int32_t>{2, 2, 2, 0});
  CHECK(sequences() == std::vector<int>{0, 0, 0, -1});
  tokenizer.encode_pair("the", "thes", {}, found, scratch);
  CHECK(found.input_ids == std::vector<int32_t>{1, 2, 4, 2, 4, 5, 2});
  CHECK(found.token_type_ids == std::vector<int32_t>{3, 0, 1, 4, 0, 0, 1});
  CHECK(sequences() == std::vector<int>{-1, -1, 0, -1, 1, 1, -1});
  CHECK(found.range(1).begin == 4);
  CHECK(found.range(1).size() == 2);
  EncodeOptions options;
  options.max_length = 6;
  std::vector<Encoding> windows;
  tokenizer.encode_pair_windows("the", "the the the", options, 0, windows, scratch);
  REQUIRE(windows.size() == 3);
  CHECK(windows[2].index(2) == 2);
  CHECK(windows[2].index(4) == 6);
  CHECK(tokenizer.continues_word(5));
  CHECK(tokenizer.piece_text(5) == "s");
  CHECK(tokenizer.piece_text(4) == "the");
  const auto refused = [&](const std::string& single, const std::string& pair) {
    return kind_of([&] { open(single, pair); }, "template");
  };
  const std::string a = special("<a>", 0);
  CHECK(refused(text("A", 0), a + "," + text("A", 0) + "," + text("B", 0)) ==
        Error::Kind::unsupported);
  CHECK(refused(a + "," + text("A", 0), a + "," + text("B", 0) + "," + text("A", 0)) ==
        Error::Kind::unsupported);
  CHECK(refused(a + "," + text("A", 0) + "," + text("A", 0),
                a + "," + text("A", 0) + "," + text("B", 0)) == Error::Kind::unsupported);
}

TEST_CASE("tokenizer.json wins over vocab.txt, with a warning if they differ") {
  Directory directory;
  directory.add("vocab.txt", kVocab);
  directory.add("tokenizer.json", tokenizer_json(kModel));
  const Tokenizer tokenizer = Tokenizer::open(directory.path());
  CHECK(tokenizer.token_to_id("the") == 4);
  REQUIRE(tokenizer.warnings().size() == 1);
  CHECK(tokenizer.warnings()[0].find("line 5") != std::string::npos);
  directory.add("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n");
  CHECK(Tokenizer::open(directory.path()).warnings().empty());
}

TEST_CASE("a scratch may outlive its tokenizer") {
  Directory directory;
  Tokenizer::Scratch scratch;
  Encoding found;
  for (const std::string before : {"", "x\n", "x\ny\n"}) {
    directory.add("vocab.txt", before + std::string(kVocab));
    const Tokenizer tokenizer = Tokenizer::open(directory.path());
    tokenizer.encode("the cat", {}, found, scratch);
    CHECK(tokens_of(tokenizer, found) == std::vector<std::string>{"[CLS]", "the", "cat", "[SEP]"});
  }
}
