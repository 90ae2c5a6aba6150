#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "base/error.h"
#include "capture.h"
#include "encoder/disentangled.h"
#include "encoder/layer.h"
#include "encoder/model.h"
#include "encoder/position_bias.h"
#include "encoder/rotary.h"
#include "golden.h"

namespace bert {
namespace {

using test::golden_model;

PackedBatch batch_of(std::vector<int32_t> ids, int32_t type = 0) {
  PackedBatch batch;
  batch.append(ids, std::vector<int32_t>(ids.size(), type));
  return batch;
}

/// The message of the Error that `call` throws, "" if none.
template <class Call>
std::string error_of(Call call, Error::Kind kind) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a batch the model cannot run is refused with numbers") {
  const Model model = Model::open(golden_model("tiny-bert"));
  Workspace workspace;
  const auto forward = [&](const PackedBatch& batch) {
    return error_of([&] { model.forward(batch, workspace); }, Error::Kind::data);
  };
  const auto vocab = static_cast<int32_t>(model.config().vocab_size);
  CHECK(contains(forward(batch_of({2, vocab, 3})), std::to_string(vocab)));
  CHECK(contains(forward(batch_of({2, -1, 3})), "-1"));
  CHECK(contains(forward(batch_of({2, 3}, 2)), "type_vocab_size is 2"));
  CHECK(contains(forward(batch_of(std::vector<int32_t>(81, 5))), "81 tokens"));
  CHECK(forward(batch_of(std::vector<int32_t>(80, 5))).empty());
}

TEST_CASE("an empty batch gives no rows") {
  const Model model = Model::open(golden_model("tiny-bert"));
  Workspace workspace;
  CHECK(model.forward(PackedBatch(), workspace).rows == 0);
}

TEST_CASE("a trace sees the embeddings and every layer, the last being the result") {
  for (const std::string name :
       {"tiny-bert", "layers-0", "layers-24", "electra-mlm", "distilbert-mlm"}) {
    CAPTURE(name);
    const Model model = Model::open(golden_model(name));
    Workspace workspace;
    size_t expected_layer = 0;
    std::vector<float> last;
    ForwardOptions options;
    options.trace.request = Traced::hidden;
    options.trace.show = [&](const TraceView& view) {
      const ConstMatrix hidden = view.values;
      CHECK(view.layer == expected_layer++);
      CHECK(hidden.cols == model.config().hidden_size);
      last.assign(hidden.data, hidden.data + hidden.rows * hidden.cols);
    };
    const PackedBatch batch = batch_of({2, 20, 30, 3});
    const Matrix hidden = model.forward(batch, workspace, options);
    CHECK(expected_layer == model.config().num_hidden_layers + 1);
    CHECK(std::memcmp(last.data(), hidden.data, last.size() * sizeof(float)) == 0);
    const std::vector<float> observed = last;
    const Matrix plain = model.forward(batch, workspace);
    CHECK(std::memcmp(observed.data(), plain.data, observed.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("layers after the last that is wanted are not computed, and those before it the same") {
  for (const std::string name : {"layers-0", "layers-24", "electra-mlm", "distilbert-mlm"}) {
    CAPTURE(name);
    const Model model = Model::open(golden_model(name));
    Workspace workspace;
    const PackedBatch batch = batch_of({2, 20, 30, 3});
    std::vector<std::vector<float>> layers;
    ForwardOptions options;
    options.trace.request = Traced::hidden;
    options.trace.show = [&](const TraceView& view) {
      const ConstMatrix hidden = view.values;
      CHECK(view.layer == layers.size());
      layers.emplace_back(hidden.data, hidden.data + hidden.rows * hidden.cols);
    };
    model.forward(batch, workspace, options);
    const auto all = std::move(layers);
    for (size_t last = 0; last < all.size() + 2; ++last) {
      CAPTURE(last);
      layers.clear();
      options.last_layer = last;
      const Matrix hidden = model.forward(batch, workspace, options);
      REQUIRE(layers.size() == std::min(last + 1, all.size()));
      CHECK(std::memcmp(hidden.data, all[layers.size() - 1].data(),
                        all[0].size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE(
    "MPNet: 66 rows of positions are 64 tokens, behind padding the row of the padding token") {
  const Model model = Model::open(golden_model("mpnet"));
  Workspace workspace;
  CHECK(model.config().max_tokens() == 64);
  CHECK(model.forward(batch_of(std::vector<int32_t>(64, 5)), workspace).rows == 64);
  CHECK(contains(error_of([&] { model.forward(batch_of(std::vector<int32_t>(65, 5)), workspace); },
                          Error::Kind::data),
                 "65 tokens"));
  // Copies of one text but for a padding token (1), which shifts the positions behind it.
  PackedBatch batch;
  for (const size_t padding : {9, 5, 20, 7}) {
    std::vector<int32_t> ids{2, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 3};
    if (padding < ids.size()) ids[padding] = 1;
    batch.append(ids, std::vector<int32_t>(ids.size(), 0));
  }
  std::vector<size_t> rows(batch.tokens());
  std::iota(rows.begin(), rows.end(), size_t{0});
  const Matrix hidden = model.forward(batch, workspace);
  const std::vector<float> all(hidden.data, hidden.data + hidden.rows * hidden.cols);
  const Matrix some = model.forward_rows(batch, rows, workspace);
  CHECK(std::memcmp(all.data(), some.data, all.size() * sizeof(float)) == 0);
}

TEST_CASE("MPNet: buckets of relative positions end where the reference's do") {
  const std::pair<ptrdiff_t, size_t> kBuckets[] = {
      {0, 0},    {-1, 1},   {-7, 7},    {-8, 8},    {-11, 8},  {-12, 9}, {-16, 10},
      {-90, 14}, {-91, 15}, {-128, 15}, {-500, 15}, {1, 17},   {7, 23},  {8, 24},
      {12, 25},  {16, 26},  {90, 30},   {91, 31},   {128, 31}, {500, 31}};
  for (const auto& [distance, bucket] : kBuckets) {
    CAPTURE_BINDING(distance);
    CHECK(DistanceBuckets().of(distance) == bucket);
  }
}

TEST_CASE("relative_bucket is that of DeBERTa: near distances each, far ones by logarithm") {
  const Disentangled v3{.buckets = 256, .max_distance = 512};
  // make_log_bucket_position of transformers 5.23
  constexpr std::pair<ptrdiff_t, ptrdiff_t> kBuckets[] = {
      {0, 0},     {1, 1},     {127, 127}, {128, 128}, {129, 129}, {130, 130}, {150, 143},
      {200, 169}, {256, 192}, {300, 207}, {400, 233}, {500, 254}, {510, 255}, {511, 255}};
  for (const auto& [distance, bucket] : kBuckets) {
    CAPTURE_BINDING(distance);
    CHECK(relative_bucket(distance, v3) == bucket);
    CHECK(relative_bucket(-distance, v3) == -bucket);
  }
  CHECK(relative_bucket(77, {.max_distance = 9}) == 77);  // each distance has its own
}

TEST_CASE("rotary_frequencies are the reference's floats") {
  // 1 / theta ** (arange(0, 8, 2) / 8) of PyTorch
  constexpr float kFrequencies[] = {1.0f, 0.0500000007f, 0.00249999994f, 0.000125000006f};
  const std::vector<float> ours = rotary_frequencies({.theta = 160000}, 8);
  REQUIRE(ours.size() == std::size(kFrequencies));
  for (size_t i = 0; i < ours.size(); ++i) CHECK(ours[i] == kFrequencies[i]);
  // GTE's own scaling: the base times the factor, angles by its power of 2 / D
  const std::vector<float> ntk = rotary_frequencies({.theta = 20000, .ntk = 8}, 8);
  for (size_t i = 0; i < ntk.size(); ++i) {
    CHECK(ntk[i] == doctest::Approx(ours[i] / std::pow(8.0, 0.25)));
  }
}

TEST_CASE("a model that only lost its pooler says so") {
  CHECK(Model::open(golden_model("tiny-bert")).has_pooler());
  CHECK_FALSE(Model::open(golden_model("no-pooler")).has_pooler());
  CHECK_FALSE(Model::open(golden_model("electra-mlm")).has_pooler());
}

TEST_CASE("word_vector is a row of the word table, whatever its type") {
  for (const std::string name : {"tiny-bert", "float16", "bfloat16", "electra-mlm"}) {
    CAPTURE(name);
    const Model model = Model::open(golden_model(name));
    const size_t width = model.config().embedding_size;
    const std::vector<float> all = model.weights().floats("embeddings.word_embeddings.weight",
                                                          {model.config().vocab_size, width});
    std::vector<float> row(width);
    model.word_vector(9, row);
    CHECK(std::memcmp(row.data(), &all[9 * width], row.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("gather_first_tokens takes the first row of each sequence") {
  PackedBatch batch = batch_of({1, 2, 3});
  batch.append(std::vector<int32_t>{4}, std::vector<int32_t>{0});
  batch.append(std::vector<int32_t>{5, 6}, std::vector<int32_t>{0, 0});
  const std::vector<float> hidden{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Buffer buffer;
  const Matrix first = gather_first_tokens(batch, ConstMatrix(hidden.data(), 6, 2), buffer);
  REQUIRE(first.rows == 3);
  CHECK(first.row(0)[0] == 0);
  CHECK(first.row(1)[0] == 6);
  CHECK(first.row(2)[1] == 9);
}

TEST_CASE("add and norm equals its definition") {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const size_t width : {1, 7, 16, 33, 64}) {
    for (const size_t in : {3, 16, 37}) {
      CAPTURE(width);
      CAPTURE(in);
      const size_t rows = 5;
      const auto draw = [&](size_t n) {
        std::vector<float> values(n);
        for (float& value : values) value = normal(random);
        return values;
      };
      const std::vector<float> w = draw(width * in), b = draw(width), gain = draw(width),
                               shift = draw(width);
      const std::vector<float> x = draw(rows * in), residual = draw(rows * width);
      const Linear dense({reinterpret_cast<const std::byte*>(w.data()), DType::f32, width, in}, b);
      const Norm norm{gain, shift, 1e-12f};
      std::vector<float> out(rows * width);
      LinearScratch scratch;
      const Matrix sum_of_rows(out.data(), rows, width);
      dense(ConstMatrix(x.data(), rows, in), sum_of_rows, Activation::none, scratch,
            ConstMatrix(residual.data(), rows, width));
      norm(sum_of_rows, sum_of_rows);
      for (size_t t = 0; t < rows; ++t) {
        std::vector<double> sum(width);
        double mean = 0, variance = 0;
        for (size_t i = 0; i < width; ++i) {
          sum[i] = static_cast<double>(b[i]) + residual[t * width + i];
          for (size_t k = 0; k < in; ++k)
            sum[i] += static_cast<double>(w[i * in + k]) * x[t * in + k];
          mean += sum[i] / static_cast<double>(width);
        }
        for (const double value : sum)
          variance += (value - mean) * (value - mean) / static_cast<double>(width);
        for (size_t i = 0; i < width; ++i) {
          const double expected =
              (sum[i] - mean) / std::sqrt(variance + 1e-12) * gain[i] + shift[i];
          CHECK(std::abs(out[t * width + i] - expected) < 1e-5 * std::max(1.0, std::abs(expected)));
        }
      }
    }
  }
}

}  // namespace bert
