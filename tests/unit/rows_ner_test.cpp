#include <doctest/doctest.h>

#include <string>

#include "io/conll.h"
#include "metrics/entities.h"
#include "predict/aggregation.h"
#include "tokenizer/windows.h"

namespace bert {
namespace {

TEST_CASE("entities of tags, by conlleval's rules") {
  const auto spans = [](std::vector<std::string_view> tags) { return TagScheme().entities(tags); };
  using Spans = std::vector<EntitySpan>;
  CHECK(spans({"B-LOC", "I-LOC", "O", "B-PER"}) == Spans{{0, 2, "LOC"}, {3, 4, "PER"}});
  CHECK(spans({"I-LOC", "I-LOC", "I-PER"}) == Spans{{0, 2, "LOC"}, {2, 3, "PER"}});  // IOB
  CHECK(spans({"I-LOC", "O", "I-LOC"}) == Spans{{0, 1, "LOC"}, {2, 3, "LOC"}});
  CHECK(spans({"B-LOC", "B-LOC"}) == Spans{{0, 1, "LOC"}, {1, 2, "LOC"}});
  CHECK(spans({"S-LOC", "B-PER", "E-PER", "I-PER"}) ==
        Spans{{0, 1, "LOC"}, {1, 3, "PER"}, {3, 4, "PER"}});  // IOBES
  CHECK(spans({"B-LOC", "M-LOC", "E-LOC", "S-LOC"}) == Spans{{0, 3, "LOC"}, {3, 4, "LOC"}});
  CHECK(spans({"PER", "PER", "LOC", "O", "GPE-LOC"}) ==
        Spans{{0, 2, "PER"}, {2, 3, "LOC"}, {4, 5, "GPE-LOC"}});  // no prefixes
  CHECK(spans({"O", "O"}).empty());
  CHECK(spans({}).empty());
}

TEST_CASE("a letter alone is a prefix if all labels of the set are prefixes") {
  using Labels = std::vector<std::string>;
  using Spans = std::vector<EntitySpan>;
  const auto spans = [](const Labels& labels, std::vector<std::string_view> tags) {
    return TagScheme(labels).entities(tags);
  };
  CHECK(spans({"B", "I", "O"}, {"B", "I", "O", "B", "B"}) ==
        Spans{{0, 2, "_"}, {3, 4, "_"}, {4, 5, "_"}});
  CHECK(spans({"O", "I"}, {"I", "I", "O", "I"}) == Spans{{0, 2, "_"}, {3, 4, "_"}});
  CHECK(spans({"B", "M", "E", "S"}, {"B", "M", "E", "S", "B", "E", "M"}) ==
        Spans{{0, 3, "_"}, {3, 4, "_"}, {4, 6, "_"}, {6, 7, "_"}});
  CHECK(spans({"B", "I", "L", "O", "U"}, {"U", "B", "L", "I"}) ==
        Spans{{0, 1, "_"}, {1, 3, "_"}, {3, 4, "_"}});
  CHECK(spans({"B", "I", "O", "X", "[CLS]", "[SEP]"}, {"B", "I"}) == Spans{{0, 2, "_"}});
  CHECK(spans({"B", "B-PER", "I", "I-PER", "O"}, {"B", "I", "I-PER"}) ==
        Spans{{0, 2, "_"}, {2, 3, "PER"}});
  const Spans plain{{0, 1, "B"}, {1, 3, "I"}};
  CHECK(spans({"B", "I", "N", "O"}, {"B", "I", "I"}) == plain);  // parts of speech
  CHECK(spans({"LOC", "B", "I"}, {"B", "I", "I"}) == plain);
  CHECK(spans({"S", "U", "O"}, {"S", "S"}) == Spans{{0, 2, "S"}});  // two classes
}

TEST_CASE("a found entity counts only with all its words, also without a type") {
  using Tags = std::vector<std::string_view>;
  EntityMetrics metrics(std::vector<std::string>{"B", "I", "O"});
  metrics.add(Tags{"O", "B", "I", "O"}, Tags{"B", "I", "I", "O"});
  CHECK(metrics.f1() == 0);
  metrics.add(Tags{"B", "I"}, Tags{"B", "I"});
  CHECK(metrics.f1() == doctest::Approx(.5));
  CHECK(metrics.unknown().empty());
  metrics.add(Tags{"B-PER", "E", "E"}, Tags{"B", "I", "O"});
  CHECK(metrics.unknown() == "3 of 9 true labels are none of the model's: 'B-PER' 1, 'E' 2");
}

TEST_CASE("entity metrics count whole entities") {
  EntityMetrics metrics;
  using Tags = std::vector<std::string_view>;
  metrics.add(Tags{"B-PER", "I-PER", "O", "B-LOC"}, Tags{"B-PER", "O", "O", "B-LOC"});
  metrics.add(Tags{"O", "B-LOC"}, Tags{"B-PER", "I-LOC"});
  CHECK(metrics.f1() == doctest::Approx(2. * 2 / (4 + 3)));
  CHECK(metrics.report() ==
        "sentences\t2\nwords\t6\naccuracy\t0.5\ntype\tprecision\trecall\tf1\tsupport\n"
        "LOC\t1\t1\t1\t2\nPER\t0\t0\t0\t1\nmacro\t0.5\t0.5\t0.5\t3\n"
        "micro\t0.5\t0.666667\t0.571429\t3\n");
  CHECK(EntityMetrics().f1() == 0);
}

TEST_CASE("aggregation: one label a word") {
  const std::vector<int32_t> words{0, 0, 0, 1};
  const auto labels = [&](Aggregation aggregation, std::vector<float>* after = nullptr) {
    std::vector<float> scores{.6f, .4f, .2f, .8f, .45f, .55f, .3f, .7f};
    const auto found = aggregate(aggregation, words, Matrix(scores.data(), 4, 2));
    if (after) *after = scores;
    return found;
  };
  CHECK(labels(Aggregation::simple).size() == 4);
  CHECK(labels(Aggregation::none)[2].label == 1);
  const auto first = labels(Aggregation::first);
  REQUIRE(first.size() == 2);
  CHECK(first[0].count == 3);
  CHECK(first[0].label == 0);
  CHECK(first[0].score == doctest::Approx(.6));
  CHECK(first[1].first == 3);
  std::vector<float> scores;
  const auto average = labels(Aggregation::average, &scores);
  CHECK(average[0].label == 1);
  CHECK(average[0].score == doctest::Approx(1.75 / 3));
  CHECK(scores[0] == doctest::Approx(1.25 / 3));
  CHECK(labels(Aggregation::max)[0].score == doctest::Approx(.8));
}

TEST_CASE("a token of several windows is owned where it has the most context") {
  struct Range {
    size_t first, count;
  };
  for (size_t size = 1; size < 9; ++size) {
    for (size_t step = 1; step <= size; ++step) {
      for (size_t tokens = 1; tokens < 30; ++tokens) {
        std::vector<Range> windows;
        for (size_t begin = 0, end = 0; end < tokens; begin += step) {
          end = std::min(begin + size, tokens);
          windows.push_back({begin, end - begin});
        }
        for (size_t t = 0; t < tokens; ++t) {
          size_t owners = 0;
          for (size_t w = 0; w < windows.size(); ++w) {
            const bool holds = t >= windows[w].first && t < windows[w].first + windows[w].count;
            owners += holds && owns_token(windows, w, t);
          }
          CHECK(owners == 1);
        }
      }
    }
  }
  const std::vector<Range> windows{{0, 6}, {3, 6}};
  CHECK(owns_token(windows, 0, 4));   // 1 token on its shorter side in both: the first
  CHECK(!owns_token(windows, 0, 5));  // none against two
  CHECK(owns_token(windows, 1, 5));
}

TEST_CASE("lines of CoNLL columns") {
  const ConllLine blanks = parse_conll("EU NNP B-NP B-ORG \r");
  CHECK(blanks.word == "EU");
  CHECK(blanks.label == "B-ORG");
  CHECK(blanks.line == "EU NNP B-NP B-ORG");
  CHECK(blanks.separator == ' ');
  const ConllLine tabs = parse_conll("New York\tB-LOC");
  CHECK(tabs.word == "New York");
  CHECK(tabs.label == "B-LOC");
  CHECK(parse_conll("word").label.empty());
  CHECK(parse_conll(" \t").line.empty());
  CHECK(parse_conll("-DOCSTART- -X- O O").word.empty());
  CHECK(parse_conll("EU  NNP O").columns == 3);
  CHECK(parse_conll("EU\t\tO").columns == 3);
  CHECK(parse_conll(" O").columns == 2);
}

TEST_CASE("comments of CoNLL columns stand before the words and look different") {
  const auto comments = [](const std::vector<std::string>& sentence, const char* word = nullptr) {
    std::vector<ConllLine> lines;
    for (const std::string& line : sentence) lines.push_back(parse_conll(line));
    const ConllLine sure = parse_conll(word ? word : "");
    std::string found;
    const auto fail = [&](size_t line, const std::string& what) {
      found += "line " + std::to_string(line) + " " + what + ";";
    };
    check_sentence(lines, true, fail, word ? &sure : nullptr);
    if (!found.empty()) return found;
    for (const ConllLine& line : lines) found += line.comment ? '#' : line.has_word() ? 'w' : '-';
    return found;
  };
  CHECK(comments({"# id 1\tdomain=en", "John _ _ B-PER"}) == "#w");  // MultiCoNER
  CHECK(comments({"# sent_id = 1", "# text = The cat", "The O", "cat O"}) == "##ww");
  CHECK(comments({"#", "# id 1\tdomain=en", "John\tB-PER"}) == "##w");
  CHECK(comments({"# O", "1 O"}) == "ww");
  CHECK(comments({"# O"}) == "w");
  CHECK(comments({"# sent 1", "# O"}) == "#w");
  CHECK(comments({"#\tO", "New York\tB-LOC"}) == "ww");
  CHECK(comments({"-DOCSTART- O", "# id 1", "EU NNP B-NP B-ORG"}) == "-#w");
  CHECK(comments({"EU NNP B-NP B-ORG", "# id 1"}) ==
        "line 1 has 3 columns, wants 4, as in 'EU NNP B-NP B-ORG';");
  CHECK(comments({"the\tDT\tO", "cat\tNN"}) ==
        "line 1 has 2 columns, wants 3, as in 'the\\x09DT\\x09O';");
  CHECK(
      comments({"the O", "cat"}).starts_with("line 1 has one column, wants a word and its label"));
  CHECK(comments({"# newdoc"}, "EU NNP B-NP B-ORG") == "#");
  CHECK(comments({"the DT O"}, "EU NNP B-NP B-ORG") ==
        "line 0 has 3 columns, wants 4, as in 'EU NNP B-NP B-ORG';");
}

}  // namespace
}  // namespace bert
