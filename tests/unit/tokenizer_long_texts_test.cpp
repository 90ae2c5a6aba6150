// Long texts through every way from bytes to tokens: no read goes outside, offsets stay inside.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "temporary.h"
#include "text/charsmap.h"
#include "text/unicode.h"
#include "tokenizer/files/sentencepiece_file.h"
#include "tokenizer/parts/text_normalizer.h"
#include "tokenizer/tokenizer.h"

using namespace bert;
using namespace std::string_literals;

namespace {

const std::string kTokens = std::string(BERT_TESTS_DIR) + "/golden/tokens/";

/// Each byte leads back to one block of the trie, which may end a key: a key of any length, also
/// one that ends within a character. It becomes `replacement`.
std::string circular_charsmap(std::string_view replacement) {
  std::vector<uint32_t> units(512);
  units[0] = 256u << 10;
  units[256] = 1u << 31;
  for (uint32_t c = 1; c < 256; ++c) units[256 + c] = c << 10 | 1u << 8 | c;
  std::string bytes;
  const auto append = [&](uint32_t number) {
    for (int k = 0; k < 4; ++k) bytes += static_cast<char>(number >> 8 * k);
  };
  append(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) append(unit);
  return bytes.append(replacement) + '\0';
}

std::string repeated(std::string_view part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

/// Characters of each length, marks, clusters, blanks and invalid bytes; keys of 256 bytes end at
/// every place in a character.
std::vector<std::string> long_texts() {
  std::vector<std::string> texts;
  for (const std::string_view part :
       {"é", "中", "😀", "e\u0301\u0323", "\u0301", "가", "\u1100\u1161\u11a8", "👩\u200d", "\r\n",
        "ﷺ", "İ", "a ", " \t", "``", "\u2581", "é\xFF", "\xE4\xB8", "\xF0\x9F\x98", "\x80"}) {
    for (const std::string_view first : {"", "a", "ab", "abc"}) {
      texts.push_back(std::string(first) + repeated(part, 700));
    }
  }
  return texts;
}

void check_normal(const NormalText& normal, size_t size) {
  REQUIRE(normal.origins.size() == normal.text.size());
  bool inside = is_utf8(normal.text);
  for (const NormalText::Span& span : normal.origins) {
    inside = inside && span.begin <= span.end && span.end <= size;
  }
  CHECK(inside);
}

void check_tokens(const Tokenizer& tokenizer, int32_t least_id = 0) {
  Tokenizer::Scratch scratch;
  Encoding found;
  for (const std::string& text : long_texts()) {
    const std::string start = printable(text.substr(0, 12));
    CAPTURE(start);
    tokenizer.encode(text, {}, found, scratch);
    bool inside = true;
    for (size_t i = 0; i < found.size(); ++i) {
      const Offset offset = found.offsets[i];
      inside = inside && offset.begin <= offset.end && offset.end <= text.size() &&
               found.input_ids[i] >= least_id &&
               found.input_ids[i] < static_cast<int32_t>(tokenizer.vocab_size());
    }
    CHECK(inside);
    tokenizer.decode(found.input_ids, false);
  }
}

void check_json(const std::string& steps) {
  CAPTURE(steps);
  test::TemporaryDirectory folder;
  folder.add("tokenizer.json",
             R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["[UNK]",0],["a",-1],["é",-1],)"
             R"(["\u2581",-2],["ab",-1.5],["éé",-1],["aé",-1]]},)" +
                 steps + "}");
  check_tokens(Tokenizer::open(folder.path()));
}

}  // namespace

TEST_CASE("a charsmap that runs in circles never leaves a long text, nor cuts a character") {
  for (const std::string& replacement : {""s, "x"s, "é"s, "xyz é"s}) {
    const std::string bytes = circular_charsmap(replacement);
    for (const Charsmap::Rule rule : {Charsmap::Rule::longest, Charsmap::Rule::clusters}) {
      const Charsmap charsmap(bytes, "test", rule);
      for (const std::string& text : long_texts()) {
        NormalText in, out;
        append_text(text, 0, in);
        if (charsmap.normalize(in, out)) check_normal(out, text.size());
        const size_t end = charsmap.longest(in.text).length;
        CHECK((end == in.text.size() || (in.text[end] & 0xC0) != 0x80));
      }
    }
  }
}

TEST_CASE("long texts through models of sentencepiece whose charsmap runs in circles") {
  for (const char* model : {"sentencepiece/plain.model", "sentencepiece/bytes.model"}) {
    for (const std::string& replacement : {"x"s, ""s, "x é  "s}) {
      SentencePieceFile file = read_sentencepiece_file(kTokens + model);
      file.charsmap = circular_charsmap(replacement);
      for (const char* name : {"DebertaV2", "XLMRoberta", "Camembert", "Albert"}) {
        test::TemporaryDirectory folder;
        folder.add("spm.model", sentencepiece_bytes(file));
        folder.add("tokenizer_config.json",
                   R"({"tokenizer_class":")" + std::string(name) + R"(Tokenizer"})");
        check_tokens(Tokenizer::open(folder.path()));
      }
    }
  }
}

TEST_CASE("long texts through each type of model that translates") {
  for (const auto& entry : std::filesystem::directory_iterator(kTokens + "translation")) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().string());
    check_tokens(Tokenizer::open(entry.path().string()));
    test::TemporaryDirectory folder;
    std::filesystem::copy(entry.path(), folder.path(), std::filesystem::copy_options::recursive);
    for (const char* side : {"/source.spm", "/target.spm"}) {
      SentencePieceFile file = read_sentencepiece_file(folder.path() + side);
      file.charsmap = circular_charsmap("x é ");
      folder.add(side + 1, sentencepiece_bytes(file));
    }
    check_tokens(Tokenizer::open(folder.path()));
  }
}

TEST_CASE("long texts through each normalizer") {
  for (const char* step :
       {R"({"type":"NFC"})", R"({"type":"NFD"})", R"({"type":"NFKC"})", R"({"type":"NFKD"})",
        R"({"type":"BertNormalizer"})", R"({"type":"Lowercase"})", R"({"type":"Strip"})",
        R"({"type":"StripAccents"})", R"({"type":"Prepend","prepend":"é"})",
        R"({"type":"Replace","pattern":{"String":"é"},"content":""})",
        R"({"type":"Replace","pattern":{"String":"éé"},"content":"中a"})",
        R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"é"})",
        R"({"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "})"}) {
    check_json(R"("normalizer":)"s + step);
  }
  for (const std::string& replacement : {""s, "x"s, "é x"s}) {
    const std::string map = encode_base64(circular_charsmap(replacement));
    const std::string step = R"({"type":"Precompiled","precompiled_charsmap":")" + map + R"("})";
    check_json(R"("normalizer":)" + step);
    check_json(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFKD"},)" + step +
               R"(,{"type":"NFC"},{"type":"Strip"}]})");
  }
}

TEST_CASE("long texts through each pre-tokenizer and each kind of model") {
  for (const char* step :
       {R"({"type":"BertPreTokenizer"})", R"({"type":"WhitespaceSplit"})",
        R"({"type":"Whitespace"})", R"({"type":"ByteLevel"})", R"({"type":"Punctuation"})",
        R"({"type":"Metaspace","replacement":"▁"})", R"({"type":"Metaspace","replacement":"é"})",
        R"({"type":"Split","pattern":{"String":"é"},"behavior":"MergedWithNext"})"}) {
    check_json(R"("pre_tokenizer":)"s + step);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kTokens + "composed")) {
    CAPTURE(entry.path().string());
    check_tokens(Tokenizer::open(entry.path().string()));
  }
  for (const bool lower : {false, true}) {
    test::TemporaryDirectory folder;
    folder.add("vocab.txt", "[UNK]\na\n##é\né\nab\n##e\n中\n[CLS]\n[SEP]\n[MASK]\n[PAD]\n");
    folder.add("tokenizer_config.json",
               lower ? R"({"do_lower_case":true})" : R"({"do_lower_case":false})");
    check_tokens(Tokenizer::open(folder.path()));
  }
  const test::TemporaryFile words("a\né\néé\nab\n");
  check_tokens(Tokenizer::open_words(words.path()), -1);  // an unknown word
}
