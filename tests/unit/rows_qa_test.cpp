#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "metrics/answer_metrics.h"
#include "predict/answers.h"
#include "rows/qa.h"
#include "text/unicode.h"

namespace bert {
namespace {

/// [CLS] q [SEP] c.. [SEP]: tokens [first, first + count) of a context whose token i is byte i,
/// every one a word.
Encoding window(size_t first, size_t count) {
  Encoding e;
  e.push(2, 0, {}, kSpecialToken, -1);
  e.push(10, 0, {0, 1}, 0, 0);
  e.push(3, 0, {}, kSpecialToken, -1);
  for (size_t i = first; i < first + count; ++i) {
    const auto byte = static_cast<uint32_t>(i);
    e.push(20, 1, {byte, byte + 1}, 1, static_cast<int32_t>(i));
  }
  e.push(3, 1, {}, kSpecialToken, -1);
  return e;
}

struct Logits {
  std::vector<float> start, end;
  void add(const Encoding& e, std::mt19937& random) {
    for (size_t i = 0; i < e.size(); ++i) {
      start.push_back(static_cast<float>(random() % 1000) / 250);
      end.push_back(static_cast<float>(random() % 1000) / 250);
    }
  }
};

std::string_view cut(std::string_view context, size_t begin, size_t end) {
  include_marks(context, begin, end);
  return context.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("one window: softmax over [CLS] and the context, start times end") {
  const Encoding e = window(0, 2);
  //                               CLS q  SEP c0 c1 SEP
  const std::vector<float> start{1, 99, 99, 2, 3, 99}, end{0, 99, 99, 1, 4, 99};
  AnswerFinder finder(5, 30);
  const Answers answers = finder.find({&e, 1}, 0, start, end, "ab");
  const double starts = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  const double ends = std::exp(0.0) + std::exp(1.0) + std::exp(4.0);
  REQUIRE(answers.best.size() == 3);
  CHECK(answers.best[0].begin == 1);
  CHECK(answers.best[0].end == 2);
  CHECK(answers.best[0].score == doctest::Approx(std::exp(7.0) / starts / ends));
  CHECK(answers.best[1].begin == 0);
  CHECK(answers.best[1].end == 2);
  CHECK(answers.best[1].score == doctest::Approx(std::exp(6.0) / starts / ends));
  CHECK(answers.null_score == doctest::Approx(std::exp(1.0) / starts / ends));
  CHECK(answers.null_margin == doctest::Approx(1.0 - 7.0));
}

TEST_CASE("several windows: every start counts in the window where it has the most context") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const size_t count = 6 + random() % 6, stride = 1 + random() % (count - 1);
    const size_t step = count - stride;
    std::vector<Encoding> windows;
    Logits logits;
    for (size_t w = 0; w < 4; ++w) {
      windows.push_back(window(w * step, count));
      logits.add(windows.back(), random);
    }
    // By trying every span of every window.
    double best = -1;
    const size_t length = count + 4;  // of an encoding
    for (size_t w = 0; w < 4; ++w) {
      for (size_t i = 0; i < count; ++i) {
        size_t owner = 0;
        double most = -1;
        for (size_t v = 0; v < 4; ++v) {
          const size_t token = w * step + i;
          if (token < v * step || token >= v * step + count) continue;
          const double room =
              static_cast<double>(std::min(token - v * step, v * step + count - 1 - token));
          if (room > most) {
            most = room;
            owner = v;
          }
        }
        if (owner != w) continue;
        for (size_t j = i; j < std::min(count, i + 3); ++j) {
          best = std::max(best, static_cast<double>(logits.start[w * length + 3 + i]) +
                                    static_cast<double>(logits.end[w * length + 3 + j]));
        }
      }
    }
    AnswerFinder finder(1, 3);
    const std::string context(3 * step + count, 'x');
    const Answers answers = finder.find(windows, step, logits.start, logits.end, context);
    REQUIRE(answers.best.size() == 1);
    CHECK(answers.best[0].logit == doctest::Approx(best));
    CHECK(answers.best[0].score <= 1.0);
  }
}

TEST_CASE("spans of the same words are one answer") {
  Encoding e = window(0, 3);
  for (size_t t = 3; t < 6; ++t) e.word_ids[t] = t < 5 ? 0 : 1;  // pieces 0 and 1 are one word
  const std::vector<float> start{0, 0, 0, 3, 4, 0, 0}, end{0, 0, 0, 4, 3, 0, 0};
  AnswerFinder finder(5, 30);
  const Answers answers = finder.find({&e, 1}, 0, start, end, "abc");
  REQUIRE(answers.best.size() == 3);  // ab, abc, c
  CHECK(answers.best[0].begin == 0);
  CHECK(answers.best[0].end == 2);
  CHECK(answers.best[0].logit == 7);
}

TEST_CASE("no context, no answer; a logit that is no number, no answer") {
  const Encoding e = window(0, 0), one = window(0, 1);
  const std::vector<float> logits(4, 1), bad{1, 1, 1, std::nanf(""), 1};
  AnswerFinder finder(1, 30);
  const Answers none = finder.find({&e, 1}, 0, logits, logits, "");
  CHECK(none.finite);
  CHECK(none.best.empty());
  CHECK(none.null_score == doctest::Approx(1));
  CHECK_FALSE(finder.find({&one, 1}, 0, bad, bad, "a").finite);
}

TEST_CASE("a mark is never cut off its letter") {
  CHECK(cut("e\u0301\u0302 x", 0, 1) == "e\u0301\u0302");
  CHECK(cut("e\u0301 x", 1, 3) == "e\u0301");
  CHECK(cut("(\u0301)", 1, 3) == "(\u0301");
  CHECK(cut("ab", 0, 1) == "a");
  CHECK(cut("\u0301b", 0, 2) == "\u0301");
  CHECK(cut("e\xcc", 0, 1) == "e");  // no UTF-8, no mark
  CHECK(cut("", 0, 0).empty());
}

TEST_CASE("answers are normalised as in SQuAD's script") {
  CHECK(normalize_answer("The  Cat's, an A!") == "cats");
  CHECK(normalize_answer("\u00c9t\u00c9\u00a0theme") == "\u00e9t\u00e9 theme");
  CHECK(normalize_answer("the").empty());
  CHECK(word_f1("x y z", "y z z") == doctest::Approx(2.0 / 3));
  CHECK(word_f1("", "") == 1);
  CHECK(word_f1("", "x") == 0);
}

TEST_CASE("gold answers: a JSON array of strings, else the field") {
  using Strings = std::vector<std::string>;
  CHECK(gold_answers("[\"a\", \"b\\t\"]") == Strings{"a", "b\t"});
  CHECK(gold_answers("[]") == Strings{""});
  CHECK(gold_answers("[1]") == Strings{"[1]"});
  CHECK(gold_answers("[sic]") == Strings{"[sic]"});
  CHECK(gold_answers("x") == Strings{"x"});
  CHECK(gold_answers("") == Strings{""});
}

TEST_CASE("exact match and F1 over the best of the true answers") {
  AnswerMetrics metrics;
  metrics.add({"x y", "z"}, "The Z.");
  metrics.add({"x y", "z"}, "y");
  metrics.add({""}, "");
  metrics.add({""}, "y");
  CHECK(metrics.report() == "records\t4\nexact_match\t50\nf1\t66.6667\n");
}

TEST_CASE("a ranking keeps the best, whatever the order they come in") {
  AnswerRanking forward(2), backward(2);
  const double scores[] = {0.1, 0.3, 0.2, 0.3};
  for (size_t i = 0; i < 4; ++i) {
    forward.add({"f", i + 1, i + 1, scores[i], 0, 1, "a"});
    backward.add({"f", 4 - i, 4 - i, scores[3 - i], 0, 1, "a"});
  }
  Rows one, other;
  forward.write(one, false);
  backward.write(other, false);
  CHECK(one.bytes() == "f\t2\t0.3\t0\t1\ta\nf\t4\t0.3\t0\t1\ta\n");
  CHECK(other.bytes() == one.bytes());
}

}  // namespace bert
