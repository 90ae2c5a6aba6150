#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "io/json.h"
#include "temporary.h"
#include "text/unicode.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/parts/byte_level.h"
#include "tokenizer/tokenizer.h"

using namespace bert;

namespace {

const std::string kComposed = std::string(BERT_TESTS_DIR) + "/golden/tokens/composed/";

/// Directories of composed tokenizers, and of classes that build their tokenizer anew.
std::vector<std::string> directories() {
  std::vector<std::string> paths;
  for (const std::string& kind : {kComposed, kComposed + "../rebuilt/"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kind)) {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

/// The numbers of an array, also of arrays in it.
std::vector<int64_t> integers(Json array) {
  std::vector<int64_t> values;
  array.for_each_element([&](Json value) {
    if (value.is_array()) {
      for (const int64_t inner : integers(value)) values.push_back(inner);
    } else {
      values.push_back(value.as_int());
    }
  });
  return values;
}

template <typename T>
std::vector<int64_t> wide(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

std::vector<int64_t> flat(const std::vector<Offset>& offsets) {
  std::vector<int64_t> values;
  for (const Offset o : offsets) {
    values.push_back(o.begin);
    values.push_back(o.end);
  }
  return values;
}

void check_case(const Tokenizer& tokenizer, Json wanted, Tokenizer::Scratch& scratch) {
  const std::string_view text = wanted.at("text").as_string();
  CAPTURE(text);
  Encoding found;
  if (const auto pair = wanted.find("pair")) {
    tokenizer.encode_pair(text, pair->as_string(), {}, found, scratch);
  } else {
    tokenizer.encode(text, {}, found, scratch);
  }
  CHECK(wide(found.input_ids) == integers(wanted.at("ids")));
  CHECK(wide(found.token_type_ids) == integers(wanted.at("type_ids")));
  if (const auto words = wanted.find("words")) CHECK(wide(found.word_ids) == integers(*words));
  CHECK(flat(found.offsets) == integers(wanted.at("offsets")));
  CHECK(tokenizer.decode(found.input_ids, true) == wanted.at("decoded").as_string());
  CHECK(tokenizer.decode(found.input_ids, false) == wanted.at("kept").as_string());
}

/// Calls use(case) for each line of a file of JSON objects.
void for_each_case(const std::string& path, const std::function<void(Json)>& use) {
  std::ifstream file(path);
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    use(JsonDocument::parse(line, "cases").root());
  }
}

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  Tokenizer::Scratch scratch;
  Encoding found;
  tokenizer.encode(text, {}, found, scratch);
  return found.input_ids;
}

Error::Kind refusal(const std::string& json, const std::string& word) {
  test::TemporaryDirectory directory;
  directory.add("tokenizer.json", json);
  try {
    Tokenizer::open(directory.path());
  } catch (const Error& error) {
    CHECK_MESSAGE(std::string(error.what()).find(word) != std::string::npos, error.what());
    return error.kind();
  }
  FAIL("no Error");
  return Error::Kind::internal;
}

constexpr std::string_view kModel =
    R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";

std::string composed(std::string_view rest, std::string_view model = kModel) {
  return R"({"model":)" + std::string(model) + std::string(rest) + "}";
}

}  // namespace

TEST_CASE("an added token within blanks that the one before has taken keeps its range") {
  const std::string added =
      R"(,"pre_tokenizer":{"type":"Whitespace"},"added_tokens":[
      {"id":3,"content":"<r>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false},
      {"id":4,"content":"\n","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
      {"id":5,"content":"<l>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":false}])";
  test::TemporaryDirectory directory;
  directory.add(
      "tokenizer.json",
      composed(added, R"({"type":"BPE","unk_token":"u","vocab":{"u":0,"a":1,"y":2},"merges":[]})"));
  const Tokenizer tokenizer = Tokenizer::open(directory.path());
  const auto check = [&](std::string_view text, const std::vector<int64_t>& ids,
                         const std::vector<int64_t>& offsets) {
    CAPTURE(text);
    Tokenizer::Scratch scratch;
    Encoding found;
    tokenizer.encode(text, {}, found, scratch);
    CHECK(wide(found.input_ids) == ids);
    CHECK(flat(found.offsets) == offsets);
  };
  check("a<r> \n y", {1, 3, 4, 2}, {0, 1, 1, 7, 5, 6, 7, 8});
  check("a<r> \ny", {1, 3, 4, 2}, {0, 1, 1, 6, 5, 6, 6, 7});
  check("a<r>  <l>y", {1, 3, 5, 2}, {0, 1, 1, 6, 6, 9, 9, 10});
  check("a <r> \n \n y <r>\n <l> a", {1, 3, 4, 4, 2, 3, 4, 5, 1},
        {0, 1, 2, 10, 6, 7, 8, 9, 10, 11, 12, 17, 15, 16, 16, 20, 21, 22});
}

TEST_CASE("composed tokenizers give the reference's ids, offsets, words and decoded texts") {
  size_t count = 0;
  for (const std::string& path : directories()) {
    CAPTURE(path);
    const Tokenizer tokenizer = Tokenizer::open(path);
    Tokenizer::Scratch scratch;
    // Twice, since the second time what stands between blanks is in the cache.
    for (const int turn : {0, 1}) {
      CAPTURE(turn);
      for_each_case(path + "/cases.jsonl",
                    [&](Json wanted) { check_case(tokenizer, wanted, scratch); });
    }
    ++count;
  }
  CHECK(count == 32);
}

TEST_CASE("texts that are one part or many have the same pieces") {
  for (const std::string& path : directories()) {
    CAPTURE(path);
    const Tokenizer tokenizer = Tokenizer::open(path);
    std::string all;
    for_each_case(path + "/cases.jsonl",
                  [&](Json wanted) { all.append(wanted.at("text").as_string()).append(" x y "); });
    Tokenizer::Scratch scratch;
    std::vector<Piece> pieces;
    tokenizer.for_each_piece(all, false, scratch, [&](std::span<const Piece> portion) {
      pieces.insert(pieces.end(), portion.begin(), portion.end());
      return true;
    });
    for (size_t limit : {1u, 7u, 100u}) {
      EncodeOptions options;
      options.add_special_tokens = false;
      options.max_length = limit;
      Encoding found;
      tokenizer.encode(all, options, found, scratch);
      REQUIRE(found.size() == limit);
      for (size_t i = 0; i < limit; ++i) {
        CHECK(found.input_ids[i] == pieces[i].id);
        CHECK(found.offsets[i] == pieces[i].offset);
      }
      CHECK(found.dropped > 0);
    }
  }
}

TEST_CASE("invalid UTF-8 is read as U+FFFD by each composition") {
  for (const std::string& path : directories()) {
    CAPTURE(path);
    const Tokenizer tokenizer = Tokenizer::open(path);
    CHECK(ids_of(tokenizer, "the \xFFwords\xE2\x82 the\xC3") ==
          ids_of(tokenizer, "the \uFFFDwords\uFFFD the\uFFFD"));
    Tokenizer::Scratch scratch;
    CHECK(tokenizer.for_each_piece("a \xFF b \xE2\x82\xFF", false, scratch,
                                   [](std::span<const Piece>) { return true; }) == 3);
  }
}

TEST_CASE("vocab.json and merges.txt are RoBERTa's tokenizer") {
  const std::string json = kComposed + "roberta/tokenizer.json";
  const JsonDocument document = JsonDocument::open(json);
  const Json model = document.root().at("model");
  test::TemporaryDirectory directory;
  std::string vocab = "{", merges = "#version: 0.2\n";
  model.at("vocab").for_each_member([&](std::string_view token, Json id) {
    if (vocab.size() > 1) vocab += ',';
    append_json_string(vocab, token);
    vocab += ":" + std::to_string(id.as_int());
  });
  model.at("merges").for_each_element([&](Json merge) {
    std::string line;
    merge.for_each_element(
        [&](Json token) { line += (line.empty() ? "" : " ") + std::string(token.as_string()); });
    merges += line + "\n";
  });
  directory.add("vocab.json", vocab + "}");
  directory.add("merges.txt", merges);
  const Tokenizer tokenizer = Tokenizer::open(directory.path());
  CHECK(tokenizer.frame().before[0].token == "<s>");
  CHECK(tokenizer.added_tokens_pair() == 4);
  CHECK(tokenizer.mask_token() == "<mask>");
  const Tokenizer whole = Tokenizer::open(kComposed + "roberta");
  CHECK(ids_of(tokenizer, "the words it's<mask> größer") ==
        ids_of(whole, "the words it's<mask> größer"));
  directory.add("tokenizer_config.json",
                R"({"tokenizer_class":"RobertaTokenizer","add_prefix_space":true})");
  CHECK(ids_of(Tokenizer::open(directory.path()), "the words") == ids_of(tokenizer, " the words"));
  directory.add("merges.txt", "a b c\n");
  CHECK_THROWS_WITH_AS(Tokenizer::open(directory.path()), doctest::Contains("merges.txt: line 1"),
                       Error);
  directory.add("merges.txt", "a nothing\n");
  CHECK_THROWS_WITH_AS(Tokenizer::open(directory.path()), doctest::Contains("nothing"), Error);
}

TEST_CASE("marks of words: U+0120, U+2581 and ##") {
  const Tokenizer bytes = Tokenizer::open(kComposed + "roberta");
  CHECK(bytes.marks_beginnings());
  const int32_t the = ids_of(bytes, " the")[1];
  CHECK(bytes.token(the) == "\xC4\xA0the");
  CHECK(bytes.piece_text(the) == "the");
  CHECK_FALSE(bytes.continues_word(the));
  const int32_t letter = ids_of(bytes, "\xC3\xA9")[1];
  CHECK(bytes.piece_text(letter) == "\xC3\xA9");
  CHECK(bytes.continues_word(letter));
  CHECK_FALSE(bytes.continues_word(bytes.mask_id()));
  CHECK(bytes.piece_text(bytes.mask_id()) == "<mask>");
  const Tokenizer blanks = Tokenizer::open(kComposed + "xlm-r");
  CHECK(blanks.marks_beginnings());
  CHECK(blanks.piece_text(ids_of(blanks, "the")[1]) == "the");
  CHECK_FALSE(Tokenizer::open(kComposed + "wordpiece").marks_beginnings());
}

TEST_CASE("long words: many symbols are joined as few are, in n log n") {
  Vocab vocab("", 0);
  for (const char* token : {"a", "b", "ab", "aba", "bab", "abab", "ba", "bb", "c"})
    vocab.add(token);
  vocab.close();
  const std::vector<BpeMerge> merges = {{"b", "b"},  {"a", "b"},  {"ab", "ab"},
                                        {"ab", "a"}, {"b", "ab"}, {"b", "a"}};
  const Bpe model(vocab, {}, merges, "merges");
  const auto scratch = model.make_scratch();
  const auto split = [&](std::string_view word) {
    std::vector<Subword> pieces;
    model.split(word, *scratch, pieces);
    return pieces;
  };
  // Nothing joins with "c".
  std::string word, unit = "abaabbabab";
  std::vector<int32_t> of_unit, of_word, repeated;
  for (const Subword& s : split(unit + "c")) of_unit.push_back(s.id);
  for (int k = 0; k < 20; ++k) {
    word += unit + "c";
    repeated.insert(repeated.end(), of_unit.begin(), of_unit.end());
  }
  uint32_t end = 0;
  for (const Subword& s : split(word)) {
    of_word.push_back(s.id);
    CHECK(s.begin == end);
    end = s.end;
  }
  CHECK(of_word == repeated);
  CHECK(end == word.size());
  const std::string million(1 << 20, 'b');
  CHECK(split(million).size() == million.size() / 2);
}

TEST_CASE("a long word of bytes, split part by part, has the pieces of the whole") {
  for (const uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    CAPTURE(seed);
    uint64_t draws = 0;
    const auto below = [&](size_t n) { return static_cast<size_t>(mix(seed, ++draws) % n); };
    // A vocabulary of the bytes and of random merges of what there is, over few letters.
    std::vector<std::string> tokens;
    for (unsigned b = 0; b < 256; ++b) {
      const char byte = static_cast<char>(b);
      append_byte_level({&byte, 1}, tokens.emplace_back());
    }
    std::vector<std::string> parts = {"a", "b", "c"};
    std::vector<std::pair<size_t, size_t>> pairs;
    for (int k = 0; k < 80; ++k) {
      pairs.emplace_back(below(parts.size()), below(parts.size()));
      parts.push_back(parts[pairs.back().first] + parts[pairs.back().second]);
    }
    std::vector<BpeMerge> merges;
    for (const auto& [left, right] : pairs) merges.push_back({parts[left], parts[right]});
    Vocab vocab("", 0);
    std::set<std::string> known(tokens.begin(), tokens.end());
    for (const std::string& token : tokens) vocab.add(token);
    for (const std::string& token : parts) {
      if (known.insert(token).second) vocab.add(token);
    }
    vocab.close();
    const Bpe model(vocab, {}, merges, "merges");
    REQUIRE(model.has_all_bytes());
    std::string word;
    while (word.size() < 5 * Bpe::kLongWord) {
      word.append(below(50) == 0 ? 3000 : 1, "abc"[below(3)]);
    }
    const auto scratch = model.make_scratch();
    std::vector<Subword> whole, by_part;
    model.split_bytes(word, *scratch, whole);
    size_t portions = 0;
    model.split_long_bytes(word, *scratch, [&](std::span<const Subword> pieces) {
      by_part.insert(by_part.end(), pieces.begin(), pieces.end());
      ++portions;
      return true;
    });
    CHECK(portions > 4);
    REQUIRE(whole.size() == by_part.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      REQUIRE(whole[i].id == by_part[i].id);
      REQUIRE(whole[i].end == by_part[i].end);
    }
  }
}

TEST_CASE("what is not in a composition is refused by name") {
  using Kind = Error::Kind;
  CHECK(refusal(composed(R"(,"normalizer":{"type":"Nmt"})"), "normalizer.type: \"Nmt\"") ==
        Kind::unsupported);
  CHECK(
      refusal(composed(R"(,"normalizer":{"type":"Replace","pattern":{"Regex":"a+"},"content":""})"),
              "a+") == Kind::unsupported);
  CHECK(refusal(composed(R"(,"pre_tokenizer":{"type":"Digits"})"), "Digits") == Kind::unsupported);
  CHECK(refusal(composed(R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split",)"
                         R"("pattern":{"Regex":"x"},"behavior":"Isolated","invert":false}]})"),
                "pretokenizers[0].pattern.Regex") == Kind::unsupported);
  CHECK(refusal(composed(R"(,"pre_tokenizer":{"type":"Metaspace","replacement":"ab"})"), "ab") ==
        Kind::data);
  CHECK(refusal(composed(R"(,"decoder":{"type":"CTC"})"), "CTC") == Kind::unsupported);
  CHECK(refusal(composed(R"(,"post_processor":{"type":"Other"})"), "Other") == Kind::unsupported);
  CHECK(refusal(composed("", R"({"type":"WordLevel","vocab":{}})"), "WordLevel") ==
        Kind::unsupported);
  CHECK(refusal(composed("", R"({"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]})"),
                "dropout") == Kind::unsupported);
  CHECK(refusal(composed("", R"({"type":"BPE","vocab":{"a":0},"merges":["a b"]})"), "b") ==
        Kind::data);
  CHECK(refusal(composed("", R"({"type":"BPE","vocab":{"a":0},"merges":["a"]})"), "merges[0]") ==
        Kind::data);
  CHECK(refusal(composed("", R"({"type":"BPE","unk_token":"u","vocab":{"a":0},"merges":[]})"),
                "unknown token u") == Kind::data);
}
