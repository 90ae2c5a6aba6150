#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "encoder/input_factors.h"
#include "encoder/model.h"
#include "encoder/trace.h"
#include "golden.h"

namespace bert {
namespace {

using test::golden_model;

constexpr TraceMask kAll = Traced::hidden | Traced::query | Traced::key | Traced::value |
                           Traced::scores | Traced::probabilities | Traced::context |
                           Traced::attended | Traced::intermediate;

struct Kept {
  size_t rows, cols;
  std::vector<float> values;
  float at(size_t i, size_t j) const { return values[i * cols + j]; }
};

/// What a trace showed, by (what, layer, sequence, head); blocks of rows one behind the other.
struct Shown {
  std::map<std::tuple<Traced, size_t, size_t, size_t>, Kept> parts;
  std::vector<float> result;  ///< [T, H] of the pass

  const Kept& of(Traced what, size_t layer, size_t sequence = 0, size_t head = 0) const {
    return parts.at({what, layer, sequence, head});
  }
  size_t count(Traced what) const {
    size_t n = 0;
    for (const auto& [key, kept] : parts) n += std::get<0>(key) == what;
    return n;
  }
};

PackedBatch two_sequences() {
  PackedBatch batch;
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{2, 20, 30, 40, 3}, std::vector<int32_t>{2, 7, 9, 3}}) {
    batch.append(ids, std::vector<int32_t>(ids.size(), 0));
  }
  return batch;
}

Shown run(const Model& model, const PackedBatch& batch, Trace trace) {
  Shown shown;
  trace.show = [&](const TraceView& view) {
    Kept& kept = shown.parts[{view.what, view.layer, view.sequence, view.head}];
    if (kept.values.empty()) kept = {0, view.values.cols, {}};
    CHECK(view.first_row == kept.rows);
    kept.rows += view.values.rows;
    for (size_t i = 0; i < view.values.rows; ++i) {
      const float* row = view.values.row(i);
      kept.values.insert(kept.values.end(), row, row + view.values.cols);
    }
  };
  Workspace workspace;
  const Matrix hidden = model.forward(batch, workspace, {.trace = trace});
  shown.result.assign(hidden.data, hidden.data + hidden.rows * hidden.cols);
  return shown;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("scores, probabilities and context of a trace are those of its queries, keys, values") {
  const Model model = Model::open(golden_model("tiny-bert"), Precision::f32);
  const PackedBatch batch = two_sequences();
  const Shown shown = run(model, batch, {.request = kAll});
  const size_t heads = model.config().num_attention_heads,
               layers = model.config().num_hidden_layers;
  const size_t d = model.config().hidden_size / heads;
  REQUIRE(shown.count(Traced::probabilities) == layers * heads * batch.sequences());
  double worst_score = 0, worst_sum = 0, worst_softmax = 0, worst_context = 0;
  for (const auto& [key, p] : shown.parts) {
    const auto [what, layer, s, head] = key;
    if (what != Traced::probabilities) continue;
    const size_t n = batch.length(s);
    REQUIRE(p.rows == n);
    REQUIRE(p.cols == n);
    const Kept& q = shown.of(Traced::query, layer, s, head);
    const Kept& k = shown.of(Traced::key, layer, s, head);
    const Kept& v = shown.of(Traced::value, layer, s, head);
    const Kept& scores = shown.of(Traced::scores, layer, s, head);
    const Kept& context = shown.of(Traced::context, layer, s, head);
    for (const Kept* part : {&q, &k, &v, &context}) {
      REQUIRE(part->rows == n);
      REQUIRE(part->cols == d);
    }
    for (size_t i = 0; i < n; ++i) {
      double sum = 0, total = 0;
      for (size_t j = 0; j < n; ++j) {
        double score = 0;
        for (size_t x = 0; x < d; ++x) score += static_cast<double>(q.at(i, x)) * k.at(j, x);
        score /= std::sqrt(static_cast<double>(d));
        worst_score = std::max(worst_score, std::abs(score - scores.at(i, j)));
        sum += p.at(i, j);
        total += std::exp(static_cast<double>(scores.at(i, j)));
      }
      worst_sum = std::max(worst_sum, std::abs(sum - 1));
      for (size_t j = 0; j < n; ++j) {
        const double softmax = std::exp(static_cast<double>(scores.at(i, j))) / total;
        worst_softmax = std::max(worst_softmax, std::abs(softmax - p.at(i, j)));
      }
      for (size_t x = 0; x < d; ++x) {
        double value = 0;
        for (size_t j = 0; j < n; ++j) value += static_cast<double>(p.at(i, j)) * v.at(j, x);
        worst_context = std::max(worst_context, std::abs(value - context.at(i, x)));
      }
    }
  }
  CHECK(worst_score < 1e-5);
  CHECK(worst_sum < 1e-6);
  CHECK(worst_softmax < 1e-6);
  CHECK(worst_context < 1e-5);
}

TEST_CASE("a trace shows what was asked for, nothing else, and changes no bit") {
  const Model model = Model::open(golden_model("tiny-bert"), Precision::f32);
  const PackedBatch batch = two_sequences();
  const size_t layers = model.config().num_hidden_layers,
               heads = model.config().num_attention_heads;
  const Shown none = run(model, batch, {}), all = run(model, batch, {.request = kAll});
  CHECK(none.parts.empty());
  CHECK(same_bits(none.result, all.result));
  CHECK(all.count(Traced::hidden) == layers + 1);
  CHECK(same_bits(all.of(Traced::hidden, layers).values, all.result));
  CHECK(all.count(Traced::attended) == layers);
  CHECK(all.of(Traced::attended, 1).rows == batch.tokens());
  CHECK(all.of(Traced::intermediate, layers).rows == batch.tokens());
  CHECK(all.of(Traced::intermediate, layers).cols == model.config().intermediate_size);

  const Shown some =
      run(model, batch,
          {.request = Traced::scores | Traced::hidden, .layers = {layers}, .heads = {heads - 1}});
  CHECK(some.parts.size() == 1 + batch.sequences());
  const Kept& scores = some.of(Traced::scores, layers, 1, heads - 1);
  CHECK(same_bits(scores.values, all.of(Traced::scores, layers, 1, heads - 1).values));
  CHECK(same_bits(some.result, all.result));
}

TEST_CASE("rows of the feed-forward net come in blocks that say where they begin") {
  const Model model = Model::open(golden_model("tiny-bert"), Precision::f32);
  PackedBatch batch;
  for (int i = 0; i < 10; ++i) {
    batch.append(std::vector<int32_t>(70, 5 + i), std::vector<int32_t>(70, 0));
  }
  const Shown shown = run(model, batch, {.request = Traced::intermediate});  // checks first_row
  CHECK(shown.of(Traced::intermediate, 1).rows == 700);
}

}  // namespace bert
