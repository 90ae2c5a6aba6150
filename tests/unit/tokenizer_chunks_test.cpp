#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "golden.h"
#include "tokenizer/chunks.h"

using namespace bert;

namespace {

/// The chunks of `text`, with their numbers of tokens: "the cat |4".
std::vector<std::string> cut(const Tokenizer& tokenizer, std::string_view text, size_t tokens,
                             size_t overlap = 0) {
  std::vector<std::string> out;
  Tokenizer::Scratch scratch;
  size_t begin = 0, end = 0;
  Chunker(tokenizer, {tokens, overlap, false}).cut(text, scratch, [&](const TextChunk& chunk) {
    CHECK((out.empty() ? chunk.begin == 0 : chunk.begin > begin));
    CHECK(chunk.begin <= end);
    CHECK(chunk.end > end);
    begin = chunk.begin, end = chunk.end;
    out.push_back(std::string(text.substr(begin, end - begin)) + "|" +
                  std::to_string(chunk.tokens));
  });
  CHECK((out.empty() || end == text.size()));
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("chunks end at sentences, else behind blanks, else between words, else inside them") {
  const Tokenizer bert = Tokenizer::open(test::golden_model("tiny-bert"));
  CHECK(cut(bert, "the cat sat. the dog ran.", 20) == Texts{"the cat sat. the dog ran.|10"});
  CHECK(cut(bert, "The cat sat. The dog ran.", 7) == Texts{"The cat sat. |6", "The dog ran.|6"});
  CHECK(cut(bert, "the cat sat on the mat", 5) == Texts{"the cat sat |5", "on the mat|5"});
  CHECK(cut(bert, "the-cat-sat", 5) == Texts{"the-cat|5", "-sat|4"});
  CHECK(cut(bert, "", 5).empty());
  CHECK(cut(bert, " \n \x01", 5).empty());
  CHECK(cut(bert, "  the  ", 3) == Texts{"  the  |3"});
}

TEST_CASE("neighbours share what fits in the overlap: whole sentences, else words") {
  const Tokenizer bert = Tokenizer::open(test::golden_model("tiny-bert"));
  CHECK(cut(bert, "The cat. The dog. The mat.", 8, 3) ==
        Texts{"The cat. The dog. |8", "The dog. The mat.|8"});
  CHECK(cut(bert, "the cat sat on the mat", 6, 1) == Texts{"the cat sat on |6", "on the mat|5"});
  CHECK(cut(bert, "the cat sat on the mat", 5, 2) ==
        Texts{"the cat sat |5", "cat sat on |5", "sat on the |5", "on the mat|5"});
}

TEST_CASE("no chunk cuts a grapheme cluster") {
  const Tokenizer bytes = Tokenizer::open(test::golden_model("words-bytes-mlm"));
  const std::string family = "👨‍👩‍👧";  // 18 bytes
  const Texts found = cut(bytes, family + family, 8);
  REQUIRE(found.size() == 2);
  CHECK(found[0].starts_with(family + "|"));
  CHECK(cut(bytes, "e\u0301e\u0301", 4).size() <= 2);
}

TEST_CASE("chunks that leave no room are refused") {
  const Tokenizer bert = Tokenizer::open(test::golden_model("tiny-bert"));
  CHECK_THROWS_AS(Chunker(bert, {2, 0, false}), Error);
  CHECK_THROWS_AS(Chunker(bert, {5, 3, false}), Error);
  CHECK_NOTHROW(Chunker(bert, {5, 2, false}));
}
