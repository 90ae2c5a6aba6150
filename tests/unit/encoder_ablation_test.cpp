#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "encoder/model.h"
#include "golden.h"
#include "predict/head_list.h"

namespace bert {
namespace {

using test::Golden;
using test::golden_model;

const char* const kModels[] = {
    "tiny-bert",  "albert",         "distilbert-mlm", "electra-mlm", "roberta-mlm", "mpnet",
    "deberta-v3", "deberta-v2-mlm", "modernbert",     "nomic",       "gte"};

std::vector<HeadPlace> heads_of(const Golden& ablated, const std::string& name) {
  const std::vector<int32_t> numbers = ablated.ints(name + ".heads");
  std::vector<HeadPlace> heads;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    heads.push_back({static_cast<size_t>(numbers[i] - 1), static_cast<size_t>(numbers[i + 1] - 1)});
  }
  return heads;
}

/// The sequence of expected/NAME.safetensors whose first token is that of `NAME.rows`.
size_t sequence_of(const Golden& ablated, const Golden& golden, const std::string& name) {
  const int32_t begin = ablated.ints(name + ".rows")[0];
  const std::vector<int32_t> begins = golden.ints("cu_seq_lens");
  return static_cast<size_t>(std::find(begins.begin(), begins.end(), begin) - begins.begin());
}

struct Difference {
  double largest = 0, scale = 0;
};

/// Between ours and the reference's, of the first rows.
Difference difference(ConstMatrix hidden, const std::vector<double>& exact) {
  Difference d;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double ours = hidden.row(i / hidden.cols)[i % hidden.cols];
    d.largest = std::max(d.largest, std::abs(ours - exact[i]));
    d.scale = std::max(d.scale, std::abs(exact[i]));
  }
  return d;
}

std::vector<float> copy(ConstMatrix m) { return {m.data, m.data + m.rows * m.cols}; }

}  // namespace

TEST_CASE("heads that are off leave what transformers computes without them, in every family") {
  const Golden ablated("ablated");
  for (const char* name : kModels) {
    CAPTURE(name);
    const Golden golden(name);
    const size_t s = sequence_of(ablated, golden, name);
    const std::vector<double> exact = ablated.doubles(name);
    const auto run = [&](Precision precision, bool off) {
      Model model = Model::open(golden_model(name), precision);
      if (off) model.ablate(heads_of(ablated, name));
      Workspace workspace;
      return difference(model.forward(golden.batch(std::vector{s}), workspace), exact);
    };
    const Difference f32 = run(Precision::f32, true);
    CHECK(f32.largest < 1e-5 * f32.scale);
    for (const Precision narrow : {Precision::bf16, Precision::int8}) {
      CHECK(run(narrow, true).largest < 0.5 * run(narrow, false).largest);
    }
  }
}

TEST_CASE("rows without some heads depend on no other sequence, and on no way they are computed") {
  const Golden ablated("ablated");
  for (const char* name : {"tiny-bert", "albert", "deberta-v2-mlm", "modernbert"}) {
    CAPTURE(name);
    const Golden golden(name);
    const size_t s = sequence_of(ablated, golden, name);
    Model model = Model::open(golden_model(name), Precision::f32);
    model.ablate(heads_of(ablated, name));
    Workspace workspace;
    const std::vector<float> alone = copy(model.forward(golden.batch(std::vector{s}), workspace));
    const PackedBatch batch = golden.batch(std::vector<size_t>{0, s, s, 1});
    const std::vector<float> all = copy(model.forward(batch, workspace));
    const size_t width = model.config().hidden_size;
    CHECK(std::memcmp(alone.data(), all.data() + batch.begin(1) * width, alone.size() * 4) == 0);
    const std::vector<size_t> rows = {0, batch.begin(1) + 2, batch.begin(2) + 2};
    const std::vector<float> some = copy(model.forward_rows(batch, rows, workspace));
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(std::memcmp(some.data() + i * width, all.data() + rows[i] * width, width * 4) == 0);
    }
  }
}

TEST_CASE("the trace of a head that is off shows zeros") {
  Model model = Model::open(golden_model("tiny-bert"), Precision::f32);
  model.ablate(std::vector<HeadPlace>{{0, 0}, {0, 0}, {1, 3}});
  PackedBatch batch;
  const std::vector<int32_t> ids = {2, 9, 8, 3};
  batch.append(ids, std::vector<int32_t>(ids.size(), 0));
  Workspace workspace;
  size_t shown = 0;
  Trace trace{.request = Traced::context};
  trace.show = [&](const TraceView& view) {
    const bool off = (view.layer == 1 && view.head == 0) || (view.layer == 2 && view.head == 3);
    for (size_t i = 0; i < view.values.rows; ++i) {
      for (size_t x = 0; x < view.values.cols; ++x) {
        CHECK((view.values.row(i)[x] == 0) == off);
        ++shown;
      }
    }
  };
  model.forward(batch, workspace, {.trace = trace});
  CHECK(shown == 2 * ids.size() * model.config().hidden_size);
}

TEST_CASE("a list of heads names layers and heads, by numbers, ranges and *") {
  Config config;
  config.num_hidden_layers = 12;
  config.num_attention_heads = 8;
  const auto places = [&](std::string_view text) {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const HeadPlace& place : parse_heads(text, "ablate", config)) {
      pairs.emplace_back(place.layer, place.head);
    }
    return pairs;
  };
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  CHECK(places("3.7") == Pairs{{2, 6}});
  CHECK(places("3.7,12.8") == Pairs{{2, 6}, {11, 7}});
  CHECK(places("-1.-2") == Pairs{{11, 6}});
  CHECK(places("2-3.1-2") == Pairs{{1, 0}, {1, 1}, {2, 0}, {2, 1}});
  CHECK(places("4.*").size() == 8);
  CHECK(places("*.1").size() == 12);
  CHECK(places("*.*").size() == 96);
  const auto refusal = [&](std::string_view text) -> std::string {
    try {
      parse_heads(text, "ablate", config);
    } catch (const Error& error) {
      CHECK(error.kind() == Error::Kind::usage);
      return error.what();
    }
    return "none";
  };
  CHECK(refusal("13.1") == "`ablate`: '13': the model has layers 1 to 12");
  CHECK(refusal("0.1") == "`ablate`: '0': the model has layers 1 to 12");
  CHECK(refusal("1.9") == "`ablate`: '9': the model has heads 1 to 8");
  CHECK(refusal("1.0") == "`ablate`: '0': the model has heads 1 to 8");
  CHECK(refusal("3") == "`ablate`: '3': wants LAYER.HEAD, as in 3.7 or 4.*");
  CHECK(refusal("1.1,,2.2") == "`ablate`: '': wants LAYER.HEAD, as in 3.7 or 4.*");
  CHECK(refusal("1.1,") == "`ablate`: '': wants LAYER.HEAD, as in 3.7 or 4.*");
  CHECK(refusal("1.") == "`ablate`: '': wants a head number");
  CHECK(refusal("1.2.3") == "`ablate`: '.3': wants a comma or the end");
  CHECK(refusal("**.1") == "`ablate`: '**': wants a layer number");
}

}  // namespace bert
