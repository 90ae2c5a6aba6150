#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include "base/error.h"
#include "golden.h"
#include "heads/classification.h"
#include "heads/masked_lm.h"
#include "heads/pooling.h"
#include "heads/question_answering.h"

namespace bert {
namespace {

using test::golden_model;

std::vector<float> pooled(Pooling pooling, const std::vector<float>& tokens, size_t width,
                          size_t include_begin = 0) {
  std::vector<float> out(width);
  pool(pooling, ConstMatrix(tokens.data(), tokens.size() / width, width), out, include_begin);
  return out;
}

PackedBatch some_batch() {
  PackedBatch batch;
  const std::vector<int32_t> ids{2, 20, 4, 30, 3, 21, 3}, types(7, 0), other{2, 4, 3};
  batch.append(ids, types);
  batch.append(other, std::vector<int32_t>(3, 0));
  return batch;
}

std::string refusal(void (*open)(const Model&), const std::string& name) {
  const Model model = Model::open(golden_model(name));
  try {
    open(model);
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::data);
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Every allowed span, sorted.
std::vector<Span> all_spans(const std::vector<float>& start, const std::vector<float>& end,
                            const std::vector<uint8_t>& allowed, size_t max_answer_length) {
  std::vector<Span> spans;
  for (size_t i = 0; i < start.size(); ++i) {
    for (size_t j = i; j < start.size() && j - i < max_answer_length; ++j) {
      if (allowed[i] && allowed[j]) spans.push_back({i, j, start[i] + end[j]});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tuple(-a.score, a.start, a.end) < std::tuple(-b.score, b.start, b.end);
  });
  return spans;
}

}  // namespace

TEST_CASE("pooling modes by hand") {
  const std::vector<float> tokens{1, -1, 4, -2, 7, -6};  // [3, 2]
  CHECK(pooled(Pooling::cls, tokens, 2) == std::vector<float>{1, -1});
  CHECK(pooled(Pooling::lasttoken, tokens, 2) == std::vector<float>{7, -6});
  CHECK(pooled(Pooling::mean, tokens, 2) == std::vector<float>{4, -3});
  CHECK(pooled(Pooling::sum, tokens, 2) == std::vector<float>{12, -9});
  CHECK(pooled(Pooling::max, tokens, 2) == std::vector<float>{7, -1});
  CHECK(pooled(Pooling::weightedmean, tokens, 2) == std::vector<float>{30.0f / 6, -23.0f / 6});
  const std::vector<float> root = pooled(Pooling::mean_sqrt_len_tokens, tokens, 2);
  CHECK(root[0] == doctest::Approx(12 / std::sqrt(3.0)));
  CHECK(pooled(Pooling::max, {-5, -7}, 2) == std::vector<float>{-5, -7});
}

TEST_CASE("a prompt that is left out of the pooling") {
  const std::vector<float> tokens{1, -1, 4, -2, 7, -6};  // [3, 2]
  CHECK(pooled(Pooling::cls, tokens, 2, 1) == std::vector<float>{4, -2});
  CHECK(pooled(Pooling::mean, tokens, 2, 1) == std::vector<float>{5.5, -4});
  CHECK(pooled(Pooling::max, tokens, 2, 2) == std::vector<float>{7, -6});
  // The weights of the others stay those of their places.
  CHECK(pooled(Pooling::weightedmean, tokens, 2, 1) == std::vector<float>{29.0f / 5, -22.0f / 5});
  CHECK(pooled(Pooling::cls, tokens, 2, 3) == std::vector<float>{1, -1});
}

TEST_CASE("pooling names") {
  CHECK(pooling_from_name("mean_sqrt_len_tokens") == Pooling::mean_sqrt_len_tokens);
  CHECK_THROWS_AS(pooling_from_name("meen"), Error);
  CHECK_THROWS_AS(pooling_from_name(""), Error);
}

TEST_CASE("norm and cosine, of zeros too") {
  std::vector<float> x{3, 4}, zero{0, 0};
  normalize_l2(x);
  CHECK(x == std::vector<float>{0.6f, 0.8f});
  normalize_l2(zero);
  CHECK(zero == std::vector<float>{0, 0});
  const std::vector<float> a{1, 2, 3}, b{-2, -4, -6};
  CHECK(cosine(a, a) == doctest::Approx(1.0));
  CHECK(cosine(a, b) == doctest::Approx(-1.0));
  CHECK(cosine(zero, zero) == 0.0);
}

TEST_CASE("best_spans finds what trying every span finds") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const size_t n = 1 + random() % 40;
    std::vector<float> start(n), end(n);
    std::vector<uint8_t> allowed(n);
    for (size_t i = 0; i < n; ++i) {
      start[i] = static_cast<float>(random() % 9);  // few values: many ties
      end[i] = static_cast<float>(random() % 9);
      allowed[i] = random() % 4 != 0;
    }
    const size_t n_best = 1 + random() % 25, longest = 1 + random() % 12;
    std::vector<Span> expected = all_spans(start, end, allowed, longest);
    if (expected.size() > n_best) expected.resize(n_best);
    const std::vector<Span> found = best_spans(start, end, allowed, n_best, longest);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].start == expected[i].start);
      CHECK(found[i].end == expected[i].end);
      CHECK(found[i].score == expected[i].score);
    }
  }
}

TEST_CASE("best_spans with nothing allowed finds nothing") {
  const std::vector<float> logits{1, 2};
  const std::vector<uint8_t> allowed{0, 0};
  CHECK(best_spans(logits, logits, allowed, 5, 5).empty());
}

TEST_CASE("a head that the file lacks is refused by name") {
  const auto mlm = [](const Model& m) { MaskedLM::open(m); };
  const auto nsp = [](const Model& m) { Classifier::open_next_sentence(m); };
  const auto classifier = [](const Model& m) { Classifier::open(m); };
  const auto qa = [](const Model& m) { QuestionAnswering::open(m); };
  CHECK(contains(refusal(mlm, "tiny-qa"), "cls.predictions"));
  CHECK(contains(refusal(mlm, "electra-classifier"), "cls.predictions"));
  CHECK(contains(refusal(nsp, "untied"), "cls.seq_relationship"));
  CHECK(contains(refusal(classifier, "tiny-bert"), "classifier"));
  CHECK(contains(refusal(classifier, "tiny-ner"), "classifier"));  // its classifier labels tokens
  CHECK(contains(refusal(qa, "tiny-bert"), "qa_outputs"));
  CHECK(refusal(mlm, "tiny-bert").empty());
  CHECK(refusal(nsp, "gamma-beta").empty());
  CHECK(refusal(classifier, "tiny-multilabel").empty());
  CHECK(refusal(qa, "distilbert-qa").empty());
}

TEST_CASE("labels and normalization are those of the config") {
  const auto check = [](const std::string& name, Normalization normalization, bool regression,
                        const std::vector<std::string>& labels) {
    CAPTURE(name);
    const Model model = Model::open(golden_model(name));
    const Classifier classifier = Classifier::open(model);
    CHECK(classifier.normalization() == normalization);
    CHECK(classifier.regression() == regression);
    CHECK(classifier.labels() == labels);
  };
  check("tiny-classifier", Normalization::softmax, false, {"negative", "neutral", "positive"});
  check("tiny-multilabel", Normalization::sigmoid, false, {"toxic", "insult", "threat", "spam"});
  check("tiny-regression", Normalization::none, true, {"score"});
  check("tiny-cross-encoder", Normalization::sigmoid, false, {"LABEL_0"});
  const Model model = Model::open(golden_model("tiny-bert"));
  CHECK(Classifier::open_next_sentence(model).labels() ==
        std::vector<std::string>{"IsNext", "NotNext"});
}

TEST_CASE("the masked LM head computes only the rows asked for, in the order asked") {
  const Model model = Model::open(golden_model("tiny-bert"));
  const MaskedLM mlm = MaskedLM::open(model);
  const PackedBatch batch = some_batch();
  Workspace workspace;
  const Matrix hidden = model.forward(batch, workspace);
  const size_t every[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const size_t vocab_size = model.config().vocab_size;
  const Matrix all = mlm.logits(hidden, every, workspace);
  const std::vector<float> kept(all.data, all.data + 10 * vocab_size);
  const size_t masks[] = {8, 2};
  const Matrix rows = mlm.logits(hidden, masks, workspace);
  REQUIRE(rows.rows == 2);
  REQUIRE(rows.cols == vocab_size);
  CHECK(std::memcmp(rows.row(0), &kept[8 * vocab_size], vocab_size * sizeof(float)) == 0);
  CHECK(std::memcmp(rows.row(1), &kept[2 * vocab_size], vocab_size * sizeof(float)) == 0);
}

}  // namespace bert
