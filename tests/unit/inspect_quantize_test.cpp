// What `quantize` writes, beside what the precision computes without it.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/error.h"
#include "capture.h"
#include "checkpoint/weights_writer.h"
#include "directory/checkpoint.h"
#include "golden.h"
#include "heads/classification.h"
#include "heads/masked_lm.h"
#include "heads/question_answering.h"
#include "inspect/compare_models.h"
#include "inspect/quantize.h"
#include "temporary.h"

namespace bert {
namespace {

using test::Golden;
using test::golden_model;
using Folder = test::TemporaryDirectory;

std::string written(const Folder& folder, const std::string& from, Precision precision,
                    const std::string& head = "") {
  static int count = 0;
  QuantizeOptions options{from, folder / ("m" + std::to_string(++count)), precision, head, false};
  quantize(options);
  return options.output;
}

std::vector<float> copy(ConstMatrix m) {
  std::vector<float> values;
  for (size_t i = 0; i < m.rows; ++i) values.insert(values.end(), m.row(i), m.row(i) + m.cols);
  return values;
}

PackedBatch batch_of(const std::string& golden_name) {
  const Golden golden(golden_name);
  std::vector<size_t> order(golden.sequences());
  std::iota(order.begin(), order.end(), size_t{0});
  return golden.batch(order);
}

/// Hidden states, and the logits of what head there is.
std::vector<float> answers(const Model& model, const PackedBatch& batch) {
  Workspace workspace;
  const Matrix hidden = model.forward(batch, workspace);
  std::vector<float> all = copy(hidden);
  const auto add = [&](ConstMatrix logits) {
    const std::vector<float> values = copy(logits);
    all.insert(all.end(), values.begin(), values.end());
  };
  const Weights& w = model.weights();
  if (w.find("cls.predictions.transform.dense.weight")) {
    std::vector<size_t> rows(batch.tokens());
    std::iota(rows.begin(), rows.end(), size_t{0});
    add(MaskedLM::open(model).logits(hidden, rows, workspace));
  }
  if (w.find("qa_outputs.weight")) add(QuestionAnswering::open(model).logits(hidden, workspace));
  if (has_plain_head(model.config(), w, HeadKind::classify)) {
    add(Classifier::open(model).logits(batch, hidden, workspace));
  }
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string content(const std::string& path) { return std::string(MappedFile::open(path).text()); }

}  // namespace

TEST_CASE("unblock_row gives what block_weights took, and blocked again it is the same") {
  std::mt19937 random(7);
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    for (const auto& [out, in] : {std::pair<size_t, size_t>{1, 1},
                                  {16, 64},
                                  {17, 65},
                                  {40, 24},
                                  {3, 127},
                                  {33, 129},
                                  {100, 384}}) {
      CAPTURE(static_cast<int>(precision));
      CAPTURE_BINDING(out);
      CAPTURE_BINDING(in);
      std::vector<float> values(out * in), back(out * in);
      for (float& x : values) x = std::normal_distribution<float>()(random);
      const size_t bytes = blocked_bytes(precision, out, in);
      std::vector<std::byte> once(bytes), twice(bytes);
      const auto block = [&, out = out, in = in](const std::vector<float>& from,
                                                 std::vector<std::byte>& to) {
        const WeightRef weight{reinterpret_cast<const std::byte*>(from.data()), DType::f32, out,
                               in};
        block_weights({&weight, 1}, precision, {}, to.data());
      };
      block(values, once);
      const double error = precision == Precision::f32    ? 0
                           : precision == Precision::bf16 ? 1. / 256
                                                          : 5. / 254;
      bool near = true;
      for (size_t i = 0; i < out; ++i) {
        unblock_row({once.data(), precision, out, in}, i, std::span(back).subspan(i * in, in));
        for (size_t k = i * in; k < (i + 1) * in; ++k) {
          const double size = precision == Precision::int8 ? 1 : std::abs(values[k]);
          near &= std::abs(back[k] - values[k]) <= error * size;
        }
      }
      CHECK(near);
      block(back, twice);
      CHECK(once == twice);
    }
  }
}

TEST_CASE("a quantized directory computes what the precision computes of its values, to the bit") {
  const Folder folder;
  for (const std::string name :
       {"tiny-bert", "odd", "untied", "electra-mlm", "distilbert-mlm", "tiny-multilabel", "float16",
        "pickle", "head-size-33", "mpnet-mlm", "mpnet-classifier", "qwen3", "gemma3",
        "eurobert-ner", "deberta"}) {
    for (const Precision precision : {Precision::int8, Precision::bf16}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(precision));
      const PackedBatch batch = batch_of(name);
      // What has been rounded once, but for the encoder's int8, is rounded no more.
      const std::string rounded = written(folder, golden_model(name), precision);
      const std::string from_floats = written(folder, rounded, Precision::f32);
      const std::string small = written(folder, from_floats, precision);
      const std::string plain = written(folder, small, Precision::f32);
      const Model quantized = Model::open(small);
      CHECK(quantized.precision() == precision);
      CHECK(same_bits(answers(quantized, batch),
                      answers(Model::open(from_floats, precision), batch)));
      CHECK(same_bits(answers(Model::open(small, Precision::f32), batch),
                      answers(Model::open(plain), batch)));
      // Quantized once more it is the same file; int8's factors are those of the floats at hand.
      CHECK(content(written(folder, small, precision) + "/model.safetensors") ==
            content(small + "/model.safetensors"));
      if (precision == Precision::int8) continue;
      CHECK(content(written(folder, plain, precision) + "/model.safetensors") ==
            content(small + "/model.safetensors"));
    }
  }
}

TEST_CASE("f32 of a directory that is not quantized has its values") {
  const Folder folder;
  for (const std::string name : {"tiny-bert", "untied", "electra-qa", "distilbert-qa", "sharded",
                                 "tiny-cross-encoder", "mpnet-mlm", "mpnet-classifier"}) {
    CAPTURE(name);
    const PackedBatch batch = batch_of(name);
    CHECK(
        same_bits(answers(Model::open(written(folder, golden_model(name), Precision::f32)), batch),
                  answers(Model::open(golden_model(name)), batch)));
  }
}

TEST_CASE("named heads stay in a quantized directory, and come out of it as models") {
  const Folder folder;
  const std::string rounded = written(folder, golden_model("tiny-heads"), Precision::int8);
  const std::string from_floats = written(folder, rounded, Precision::f32);
  const std::string small = written(folder, from_floats, Precision::int8);
  const std::string plain = written(folder, small, Precision::f32);
  for (const std::string head : {"sentiment", "topic", "ner", "qa"}) {
    CAPTURE(head);
    const PackedBatch batch = batch_of("tiny-heads." + head);
    const auto wanted = answers(Model::open(plain, Precision::f32, {head, {}}), batch);
    CHECK(same_bits(answers(Model::open(small, Precision::f32, {head, {}}), batch), wanted));
    CHECK(same_bits(answers(Model::open(small, Precision::int8, {head, {}}), batch),
                    answers(Model::open(from_floats, Precision::int8, {head, {}}), batch)));

    const std::string alone = written(folder, small, Precision::f32, head);
    const Checkpoint checkpoint = Checkpoint::open(alone);
    CHECK(checkpoint.config.heads.empty());
    CHECK(checkpoint.config.labels == Checkpoint::open(small, {head, {}}).config.labels);
    for (const TensorView* tensor : checkpoint.weights.tensors()) {
      CHECK(!tensor->name.starts_with("heads."));
      CHECK(!tensor->name.starts_with("cls."));
    }
    const Model model = Model::open(alone);
    Workspace a, b;
    const Model from = Model::open(small, Precision::f32, {head, {}});
    CHECK(same_bits(copy(model.forward(batch, a)), copy(from.forward(batch, b))));
  }
}

TEST_CASE("a head that brings what the bare model lacks is measured with it") {
  const Folder folder;
  const std::string from = golden_model("tiny-heads"), directory = folder / "own";
  std::filesystem::copy(from, directory);
  const Checkpoint checkpoint = Checkpoint::open(from);
  const Checkpoint of_head = Checkpoint::open(from, {"qa", {}});
  WeightsWriter writer;
  for (const TensorView* tensor : checkpoint.weights.tensors()) {
    const std::string name = checkpoint.weights.canonical(*tensor);
    if (name.starts_with("heads.qa.encoder.layer.1.")) continue;
    const bool own = name.starts_with("encoder.layer.1.");
    writer.add(own ? *of_head.weights.find(name) : *tensor, (own ? "heads.qa." : "") + name);
  }
  std::filesystem::remove(directory + "/model.safetensors");
  writer.write(directory + "/model.safetensors");
  CHECK_THROWS_AS(Model::open(directory, Precision::int8), Error);
  const PackedBatch batch = batch_of("tiny-heads.qa");
  Workspace workspace;
  const auto hidden = [&](const Model& model) { return copy(model.forward(batch, workspace)); };
  const auto wanted = hidden(Model::open(directory, Precision::f32, {"qa", {}}));
  for (const Model& model : {Model::open(directory, Precision::int8, {"qa", {}}),
                             Model::open(written(folder, directory, Precision::int8, "qa"))}) {
    const auto got = hidden(model);
    REQUIRE(got.size() == wanted.size());
    const auto product = [](const std::vector<float>& a, const std::vector<float>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    CHECK(product(got, wanted) > 0.9995 * std::sqrt(product(got, got) * product(wanted, wanted)));
  }
}

TEST_CASE("quantize refuses to write over a model, and a head that is not there") {
  const Folder folder;
  QuantizeOptions options;
  options.model = golden_model("tiny-bert");
  options.output = folder / "m";
  quantize(options);
  CHECK_THROWS_AS(quantize(options), Error);
  options.overwrite = true;
  CHECK_NOTHROW(quantize(options));
  options.head = "none";
  CHECK_THROWS_AS(quantize(options), Error);
}

}  // namespace bert
