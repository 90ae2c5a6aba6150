#include <doctest/doctest.h>

#include <cmath>
#include <iterator>

#include "golden.h"
#include "heads/classification.h"
#include "metrics/metrics.h"
#include "rows/classify.h"

namespace bert {
namespace {

LabelPlan plan_of(const std::string& model_name, const LabelChoice& choice = {}) {
  const Model model = Model::open(test::golden_model(model_name));
  return LabelPlan::make(Classifier::open(model), choice);
}

void add(LabelMetrics& metrics, std::vector<size_t> gold, std::vector<size_t> predicted) {
  metrics.add(gold, predicted);
}

}  // namespace

TEST_CASE("the plan of a head is that of its config") {
  const LabelPlan softmax = plan_of("tiny-classifier");
  CHECK(softmax.labels == std::vector<std::string>{"negative", "neutral", "positive"});
  CHECK_FALSE(softmax.values);
  CHECK_FALSE(softmax.independent);
  CHECK(softmax.hypotheses.empty());
  CHECK(plan_of("tiny-multilabel").independent);
  CHECK(plan_of("tiny-regression").values);
  CHECK_FALSE(plan_of("tiny-cross-encoder").values);
  CHECK(plan_of("tiny-classifier", {.names = {"a", "b", "c"}}).labels ==
        std::vector<std::string>{"a", "b", "c"});
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.names = {"a", "b"}}), Error);
}

TEST_CASE("zero-shot wants a label of entailment") {
  const std::vector<std::string> three{"a", "b", "c"};
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.candidates = three}), Error);
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.candidates = three, .names = three}), Error);
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.names = three, .hypothesis_template = "it is {}"}),
                  Error);
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.names = three, .independent = true}), Error);
  CHECK_THROWS_AS(plan_of("tiny-classifier", {.hypothesis_template = "it is {}"}), Error);
}

TEST_CASE("labels counted by hand") {
  LabelMetrics metrics({"a", "b", "never"});
  add(metrics, {0}, {0});
  add(metrics, {0}, {1});
  add(metrics, {1}, {1});
  add(metrics, {1}, {});  // not a number
  CHECK(metrics.report() ==
        "records\t4\naccuracy\t0.5\nlabel\tprecision\trecall\tf1\tsupport\n"
        "a\t1\t0.5\t0.666667\t2\n"
        "b\t0.5\t0.5\t0.5\t2\n"
        "never\t0\t0\t0\t0\n"
        "macro\t0.75\t0.5\t0.583333\t4\n"
        "micro\t0.666667\t0.5\t0.571429\t4\n");
}

TEST_CASE("macro F1 and Matthews' correlation of scikit-learn") {
  const size_t gold[] = {0, 0, 0, 1, 1, 2, 2, 2, 2, 1}, said[] = {0, 1, 0, 1, 2, 2, 2, 0, 2, 1};
  LabelMetrics metrics({"a", "b", "c", "never"}), one({"a", "b"});
  for (size_t i = 0; i < std::size(gold); ++i) add(metrics, {gold[i]}, {said[i]});
  CHECK(metrics.macro_f1() == doctest::Approx(0.6944444444444443).epsilon(1e-12));
  CHECK(metrics.mcc() == doctest::Approx(0.5454545454545454).epsilon(1e-12));
  add(one, {0}, {0});
  CHECK(one.macro_f1() == 1);
  CHECK(one.mcc() == 0);
}

TEST_CASE("several labels a record") {
  LabelMetrics metrics({"a", "b"});
  add(metrics, {0, 1}, {1, 0});
  add(metrics, {0, 1}, {0});
  add(metrics, {}, {});
  CHECK(metrics.report() ==
        "records\t3\naccuracy\t0.666667\nlabel\tprecision\trecall\tf1\tsupport\n"
        "a\t1\t1\t1\t2\nb\t1\t0.5\t0.666667\t2\n"
        "macro\t1\t0.75\t0.833333\t4\nmicro\t1\t0.75\t0.857143\t4\n");
}

TEST_CASE("no records, no division") {
  CHECK(LabelMetrics({"a"}).report() ==
        "records\t0\naccuracy\tnan\nlabel\tprecision\trecall\tf1\tsupport\n"
        "a\t0\t0\t0\t0\nmacro\t0\t0\t0\t0\nmicro\t0\t0\t0\t0\n");
  CHECK(ValueMetrics().report() == "records\t0\npearson\tnan\nspearman\tnan\nmse\tnan\n");
}

TEST_CASE("equal values share the mean of their ranks") {
  const std::vector<double> x{3, 1, 3, 2, 3};
  CHECK(ranks(x) == std::vector<double>{4, 1, 4, 2, 4});
  const std::vector<double> with_nan{1, std::nan(""), 2};
  CHECK(std::isnan(ranks(with_nan)[0]));
}

TEST_CASE("correlations by hand, whatever the order of adding") {
  ValueMetrics forward, backward;
  const double gold[] = {1, 2, 3, 4}, value[] = {1, 4, 9, 16};
  for (size_t i = 0; i < 4; ++i) {
    forward.add(i + 1, gold[i], value[i]);
    backward.add(4 - i, gold[3 - i], value[3 - i]);
  }
  // r = 25 / sqrt(5 * 129): the deviations are -1.5 -.5 .5 1.5 and -6.5 -3.5 1.5 8.5
  CHECK(forward.report() == "records\t4\npearson\t0.984374\nspearman\t1\nmse\t46\n");
  CHECK(backward.report() == forward.report());
}

}  // namespace bert
